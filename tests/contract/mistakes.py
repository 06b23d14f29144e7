"""Deliberate mistakes that a type checker must catch; never imported."""

import suffice as sf

sf.LDA(tied=False)
sf.QDA(shrinkage="oass")
sf.GaussianNB(pooling=0.5)
sf.GaussianClassifier(covarience="full")
sf.RDA(0.5)
lda = sf.LDA()
lda.predict_probba([[0.0]])
value = lda.covarience
lda.model_.log_densty([[0.0]])
value = lda.moments_.scaters
sf.LDAA()
sf.Costs(rejekt=0.1)
