"""The public names of suffice, and where each is defined."""

from . import datasets as datasets
from . import diagnostics as diagnostics
from . import plots as plots
from . import sklearn as sklearn
from . import streams as streams
from .core.estimation.normal_inverse_wishart import (
    NormalInverseWishart as NormalInverseWishart,
)
from .core.model.geometry.hyperplanes_and_quadrics import Hyperplane as Hyperplane
from .core.model.geometry.hyperplanes_and_quadrics import Quadric as Quadric
from .core.moments.moments import Moments as Moments
from .core.power_transform import PowerTransform as PowerTransform
from .data.options import Columns as Columns
from .data.options import TextFormat as TextFormat
from .data.store.store import MomentStore as MomentStore
from .data.summarize import summarize as summarize
from .discriminative.descent import descend as descend
from .estimators.auto import AutoClassifier as AutoClassifier
from .estimators.auto import AutoGaussian as AutoGaussian
from .estimators.encoder import TableEncoder as TableEncoder
from .estimators.gaussian import LDA as LDA
from .estimators.gaussian import QDA as QDA
from .estimators.gaussian import RDA as RDA
from .estimators.gaussian import GaussianClassifier as GaussianClassifier
from .estimators.gaussian import GaussianNB as GaussianNB
from .estimators.linear import LeastSquaresClassifier as LeastSquaresClassifier
from .estimators.linear import LinearGaussianRegressor as LinearGaussianRegressor
from .estimators.logistic import LogisticRegression as LogisticRegression
from .estimators.mixture import MixtureClassifier as MixtureClassifier
from .estimators.perceptron import Perceptron as Perceptron
from .evaluate.comparison.bias_variance import bias_variance as bias_variance
from .evaluate.comparison.comparison import compare as compare
from .evaluate.comparison.learning_curve import learning_curve as learning_curve
from .evaluate.comparison.selection import select as select
from .evaluate.diagnostics.box_m_and_wilks import box_m as box_m
from .evaluate.diagnostics.box_m_and_wilks import class_separation as class_separation
from .evaluate.diagnostics.calibration import calibration as calibration
from .evaluate.diagnostics.normality import normality as normality
from .evaluate.diagnostics.predictive import predictive_check as predictive_check
from .persistence.load import load as load
from .present.report.build import Report as Report
from .present.report.build import report as report
from .selection.validation.cross_validation import cross_validate as cross_validate
from .selection.validation.folds import split as split
from .selection.validation.leave_one_out import leave_one_out as leave_one_out

__version__: str
