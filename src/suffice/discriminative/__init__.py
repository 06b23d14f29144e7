"""Discriminative classifiers: logistic and softmax regression, the perceptron, least squares.

Such classifiers fit the posterior or the boundary directly, without a density of the rows of a
class. This package holds losses, solvers and recorded descents, which work on tables and moments.
The scikit-learn classes are in ``suffice.estimators``. When it is imported, the package may import
``suffice.core``, but no package of a higher layer.
"""
