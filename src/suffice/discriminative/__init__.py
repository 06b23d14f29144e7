"""Discriminative classifiers: logistic and softmax regression, the perceptron, least squares.

They fit the posterior or the boundary directly, without a density of the rows of a class. This
package holds their losses, solvers and recorded descents on tables and moments. The scikit-learn
classes are in ``suffice.estimators``. The package may import ``suffice.core``, but nothing above
it.
"""
