"""What a classifier tells people: a report, and a summary in notebooks."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from suffice import notebook

if TYPE_CHECKING:
    from pathlib import Path


class Tells:
    """Reports and notebook summaries of a classifier."""

    def report(self, X: Any, y: Any, path: str | Path | None = None, **options: Any) -> Any:
        """Return a report about this classifier on labelled rows; see ``sf.report``.

        Settings count, what was learnt does not: all errors are of rows held out from a copy.
        """
        # by name: reports stand above estimators
        write = import_module("suffice.reporting").report
        return write(X, y, path, estimator=self, **options)

    def _html_repr(self) -> str:
        """Return scikit-learn's diagram, and what was learnt if anything was."""
        diagram: str = super()._html_repr()  # type: ignore[misc]
        return diagram if "classes_" not in vars(self) else diagram + self._learnt()

    def _learnt(self) -> str:
        classes = notebook.shown(vars(self)["classes_"].tolist())
        moments = getattr(self, "moments_", None)
        if moments is None:
            return notebook.table(["class"], [[label] for label in classes])
        priors = getattr(self, "priors_", moments.weights / moments.total_weight).tolist()
        rows = zip(classes, moments.counts.tolist(), priors, strict=False)
        return notebook.table(["class", "rows", "prior"], rows)
