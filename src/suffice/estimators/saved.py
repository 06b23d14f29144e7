"""Classifiers of other libraries in the file format of suffice."""

from collections.abc import Mapping
from typing import Any, NoReturn, Self

from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from suffice.core.decision.classifier import Classifier
from suffice.core.table.labels import as_labels
from suffice.core.table.notation import Notations
from suffice.errors import InvalidParameterError
from suffice.estimators.encoder import TableEncoder
from suffice.estimators.linear import LinearDecisions
from suffice.estimators.predictor import PosteriorMixin, PredictorMixin, set_features
from suffice.persistence.fields import State
from suffice.persistence.portable import PortableParts, portable_from, portable_state
from suffice.typing import Array, RowsLike

# attributes of the classifier that the header of a file keeps
_FIELDS = (
    "n_features",
    "n_classes",
    "feature_names",
    "encoding",
    "takes_missing",
    "has_posterior",
    "holds",
    "libraries",
)


class SavedClassifier(PosteriorMixin):
    """A fitted classifier of scikit-learn, LightGBM, XGBoost or CatBoost in a file of suffice.

    ``predict`` and ``predict_proba`` return the same as the classifier did when it was saved. A
    saved classifier cannot be fitted again: fit the original one instead.

    Examples
    --------
    >>> import tempfile, pathlib, suffice as sf
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from suffice.estimators.saved import SavedClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "tree.suffice"
    >>> SavedClassifier.of(DecisionTreeClassifier(random_state=0).fit(X, y)).save(path)
    >>> sf.load(path).predict(X[:2]).tolist()
    [0, 0]
    """

    _header: Mapping[str, Any]
    _arrays: Mapping[str, Array]
    _classifier: Classifier

    @classmethod
    def of(cls, fitted: Any) -> Self:
        """Return a fitted classifier in a form that can be saved; raise if no file can hold it."""
        header, arrays = portable_state(_parts(fitted))
        return cls()._restored(header, arrays)

    @property
    def _takes_categories(self) -> bool:
        return True

    @property
    def _takes_missing(self) -> bool:
        return bool(self._header["takes_missing"])

    @property
    def model_(self) -> Classifier:
        check_is_fitted(self)
        return self._classifier

    def fit(self, X: RowsLike, y: object = None) -> NoReturn:  # noqa: ARG002
        """Raise an error: a saved classifier of another library cannot be fitted."""
        raise InvalidParameterError(
            "a saved classifier of another library cannot be fitted: fit the original classifier, "
            "and save it again"
        )

    def _state(self) -> State:
        return dict(self._header), dict(self._arrays)

    def _restored(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        self._classifier = portable_from(header, arrays)
        self._header = {name: header[name] for name in _FIELDS if name in header}
        self._arrays = dict(arrays)
        self.classes_ = self._classifier.classes
        names = header["feature_names"]
        set_features(self, int(header["n_features"]), None if names is None else tuple(names))
        return self


def portable(fitted: Any, notations: Notations | None = None) -> PredictorMixin:
    """Return a fitted classifier as one that can be saved; raise if no file can hold it.

    ``notations`` describe the numbers and dates in the text file of the training rows.
    """
    model = fitted if isinstance(fitted, PredictorMixin) else SavedClassifier.of(fitted)
    if notations is not None:
        model._notations = notations
    return model


def _parts(fitted: Any) -> PortableParts:
    """Return the parts of a classifier that a file keeps, and of its encoder if it has one."""
    if isinstance(fitted, Pipeline) and isinstance(fitted[0], TableEncoder):
        encoder = fitted[0]
        inner = fitted[1:] if len(fitted) > 2 else fitted[-1]
        if isinstance(inner, LinearDecisions):
            inner = inner.model_.model
        return PortableParts(
            fitted=inner,
            classes=as_labels(fitted.classes_),
            feature_names=_names_of(encoder),
            n_features=len(encoder.encoding_.schema.columns),
            encoding=encoder.encoding_,
            fills=encoder._fills,
            takes_missing=True,
        )
    if not hasattr(fitted, "predict_proba"):
        raise InvalidParameterError(
            f"{type(fitted).__name__} cannot be saved, because it predicts no probabilities: "
            "calibrate it, or save another classifier"
        )
    return PortableParts(
        fitted=fitted,
        classes=as_labels(fitted.classes_),
        feature_names=_names_of(fitted),
        n_features=int(fitted.n_features_in_),
        encoding=None,
        fills=None,
        takes_missing=_takes_missing(fitted),
    )


def _names_of(fitted: Any) -> tuple[str, ...] | None:
    names = getattr(fitted, "feature_names_in_", None)
    return None if names is None else tuple(str(name) for name in names)


def _takes_missing(fitted: Any) -> bool:
    """Return whether every step of a classifier accepts NaN."""
    steps = [step for _, step in fitted.steps] if isinstance(fitted, Pipeline) else [fitted]
    return all(get_tags(step).input_tags.allow_nan for step in steps)
