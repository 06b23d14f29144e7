"""Functions for courses: descents, bias and variance, the softmax with any base.

>>> from suffice.lectures import descend
>>> path = descend(lambda w: w @ w, lambda w: 2 * w, [1.0, 2.0], learning_rate=0.25)
>>> path.losses[:3].tolist()
[5.0, 1.25, 0.3125]
"""

from suffice.core.model.posterior import softmax
from suffice.discriminative.calculus import convexity_gap, numerical_gradient
from suffice.discriminative.descent import descend
from suffice.discriminative.descent_settings import GradientDescent, NewtonDescent
from suffice.discriminative.perceptron import PerceptronLearning
from suffice.estimators.least_squares import LinearGaussianRegressor
from suffice.evaluate.comparison.bias_variance import bias_variance
from suffice.evaluate.comparison.selection import select

__all__ = [
    "GradientDescent",
    "LinearGaussianRegressor",
    "NewtonDescent",
    "PerceptronLearning",
    "bias_variance",
    "convexity_gap",
    "descend",
    "numerical_gradient",
    "select",
    "softmax",
]
