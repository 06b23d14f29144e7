"""The parts of fitted classifiers that exports read."""

from collections.abc import Mapping
from typing import Protocol, TypeAlias

from suffice.core.decision import Classifier
from suffice.core.model.averaged import AveragedModel, ForeignModel, Share, TemperedModel
from suffice.core.model.class_model import ClassModel
from suffice.core.model.linear import LinearModel
from suffice.core.model.predicted import FilledModel, PredictedModel
from suffice.core.model.trees import BoostedTrees, Trees
from suffice.errors import InvalidParameterError


class FittedEstimator(Protocol):
    """A fitted estimator of suffice."""

    @property
    def model_(self) -> Classifier:
        """The fitted classifier."""

    def get_params(self) -> Mapping[str, object]:
        """Return the parameters of the constructor."""


Fitted: TypeAlias = FittedEstimator | Classifier


def single_model(classifier: Classifier) -> ClassModel | LinearModel:
    """Return the model of a classifier that is not an average."""
    if isinstance(classifier.model, AveragedModel):
        raise InvalidParameterError(
            "an average of models has no single formula: export its members one by one"
        )
    if isinstance(classifier.model, (PredictedModel, FilledModel)):
        raise InvalidParameterError(
            "a pipeline, or a model of another library, has no formula that suffice exports: "
            "predict with suffice predict, or export it with that library"
        )
    return classifier.model


def member_model(share: Share) -> ClassModel | LinearModel | Trees | BoostedTrees:
    """Return the scorer of a member; raise for classifiers of other libraries."""
    model = share.model
    if not isinstance(model, TemperedModel):
        return model
    if isinstance(model.inner, ForeignModel):
        raise InvalidParameterError(
            "the average has a member that is not exported "
            f"({type(model.inner.fitted).__name__}): leave it out of members, or export "
            "best_estimator_"
        )
    return model.inner
