"""Prediction sets of the Gaussian classifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from suffice.errors import MissingStatisticsError

if TYPE_CHECKING:
    from suffice.evaluation.conformal import PredictionSets

_SMALL = 1_000_000  # numbers in a table whose rows ``fit`` keeps at hand for calibration


class PredictsSets:
    """Classes that cannot be ruled out, with a guarantee that needs no model to be true."""

    def calibrate(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Measure, on the rows of ``fit``, how strange each label looks to all other rows.

        Needed before ``predict_set`` after ``partial_fit``, ``fit_moments`` or a fit of more than
        a million numbers; smaller fits do it when first needed.
        """
        from suffice.evaluation.conformal import Conformity
        from suffice.evaluation.leave_one_out import leave_one_out

        self._conformity = Conformity.of(leave_one_out(self, X, y, sample_weight))
        self.__dict__.pop("_rows_at_hand", None)
        return self

    def predict_set(self, X: Any, coverage: float = 0.95) -> PredictionSets:
        """Return for each row the set of classes that holds the true one with ``coverage``.

        Calibrated on leave-one-out posteriors: for rows drawn like the training rows the true class
        is in the set with about the probability asked for, whether the model is right or not
        (never less than 2 · coverage − 1).

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from suffice import LDA
        >>> X, y = load_iris(return_X_y=True)
        >>> LDA().fit(X, y).predict_set(X[[0, 70]], coverage=0.99).to_list()
        [[0], [1, 2]]
        """
        from suffice.evaluation.conformal import PredictionSets

        posterior = self.predict_proba(X)  # type: ignore[attr-defined]
        if "_conformity" not in vars(self):
            if "_rows_at_hand" not in vars(self):
                msg = "predict_set needs calibration: call calibrate(X, y) with the rows of fit"
                raise MissingStatisticsError(msg)
            self.calibrate(*self._rows_at_hand)
        members = 1 - posterior <= self._conformity.threshold(coverage) * (1 + 1e-12)
        return PredictionSets(self.classes_, members, coverage)  # type: ignore[attr-defined]

    def _keep_at_hand(self, x: Any, y: Any, sample_weight: Any) -> None:
        """Remember the rows of a small fit, not copied, until they are needed or replaced."""
        self._forget_calibration()
        if x.size <= _SMALL:
            self._rows_at_hand = (x, y, sample_weight)

    def _forget_calibration(self) -> None:
        self.__dict__.pop("_conformity", None)
        self.__dict__.pop("_rows_at_hand", None)

    def __getstate__(self) -> Any:
        """Return what is pickled: never the rows."""
        state: Any = super().__getstate__()
        return {k: v for k, v in state.items() if k != "_rows_at_hand"}
