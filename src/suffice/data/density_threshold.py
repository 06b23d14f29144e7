"""The log density below which a row counts as an outlier."""

from dataclasses import replace

import numpy as np

from suffice.core.decision import Classifier
from suffice.core.model.averaged import AveragedModel
from suffice.core.model.class_model import ClassModel
from suffice.typing import Floats

OUTLIER_RATE = 0.001
_DRAWS = 50_000
# rows × features × classes per batch; so small a batch needs no compiled code
_FEW_NUMBERS = 90_000


def outlier_threshold(classifier: Classifier, rate: float) -> float:
    """Return the log density below which a share ``rate`` of new rows is expected.

    If the number of rows of the fit is known, the simulated new rows include the error of the
    estimates.
    """
    model = classifier.model
    if isinstance(model, ClassModel | AveragedModel):
        return _quantile(classifier, replace(classifier, model=model.of_new_rows()), rate)
    return _quantile(classifier, classifier, rate)


def fitted_row_threshold(classifier: Classifier, rate: float) -> float:
    """Return the log density below which a share ``rate`` of rows drawn from the model lies.

    This limit suits training rows, which are closer to the estimates than new rows are.
    """
    return _quantile(classifier, classifier, rate)


def _quantile(classifier: Classifier, population: Classifier, rate: float) -> float:
    """Return a quantile of the classifier's log densities for rows drawn from a population."""
    rng = np.random.default_rng(0)
    at_once = max(_FEW_NUMBERS // (classifier.n_features * len(classifier.classes)), 100)
    densities: list[Floats] = []
    for start in range(0, _DRAWS, at_once):
        rows, _ = population.sample(min(at_once, _DRAWS - start), rng)
        if isinstance(rows, dict):  # mixed rows are columns by name
            import polars as pl

            columns = {name: column.tolist() for name, column in rows.items()}
            densities.append(classifier.log_density(pl.DataFrame(columns)))
        else:
            densities.append(classifier.log_density(rows))
    return float(np.quantile(np.concatenate(densities), rate))
