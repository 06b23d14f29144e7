"""The public names of suffice, and where each is defined."""

from . import datasets as datasets
from . import diagnostics as diagnostics
from . import lectures as lectures
from . import plots as plots
from . import privacy as privacy
from . import sklearn as sklearn
from . import streams as streams
from .core.decision.bayes_decision import Costs as Costs
from .core.estimation.normal_inverse_wishart import (
    NormalInverseWishart as NormalInverseWishart,
)
from .core.estimation.priors import Dirichlet as Dirichlet
from .core.estimation.settings import Categorical as Categorical
from .core.estimation.shrinkage import Shrinkage as Shrinkage
from .core.model.geometry.hyperplane import Hyperplane as Hyperplane
from .core.model.geometry.quadric import Quadric as Quadric
from .core.moments.count_sums import CountSums as CountSums
from .core.moments.mixed_sums import MixedSums as MixedSums
from .core.moments.moments import Moments as Moments
from .core.power_transform import PowerTransform as PowerTransform
from .data.options import Columns as Columns
from .data.options import TextFormat as TextFormat
from .data.store.store import MomentStore as MomentStore
from .data.summarize import summarize as summarize
from .estimators.auto import AutoClassifier as AutoClassifier
from .estimators.auto import AutoGaussian as AutoGaussian
from .estimators.counts import CountNB as CountNB
from .estimators.gaussian import LDA as LDA
from .estimators.gaussian import QDA as QDA
from .estimators.gaussian import RDA as RDA
from .estimators.gaussian import GaussianClassifier as GaussianClassifier
from .estimators.gaussian import GaussianNB as GaussianNB
from .estimators.least_squares import LeastSquaresClassifier as LeastSquaresClassifier
from .estimators.logistic import LogisticRegression as LogisticRegression
from .estimators.mixed_naive_bayes import MixedNB as MixedNB
from .estimators.mixture import MixtureClassifier as MixtureClassifier
from .estimators.perceptron import Perceptron as Perceptron
from .evaluate.comparison.comparison import compare as compare
from .evaluate.comparison.learning_curve import learning_curve as learning_curve
from .persistence.load import load as load
from .present.report.build import report as report
from .selection.validation.cross_validation import cross_validate as cross_validate
from .selection.validation.leave_one_out import leave_one_out as leave_one_out
from .selection.validation.splitting import split as split

__version__: str
