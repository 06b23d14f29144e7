"""Which rows are unlike those that a model was fitted to: the log density below which they lie."""

import numpy as np

from suffice.core.decision import Classifier

OUTLIER_RATE = 0.001
_DRAWS = 50_000
_FEW_NUMBERS = 90_000  # rows × features × classes that are scored without compiled code


def outlier_threshold(classifier: Classifier, rate: float) -> float:
    """Return the log density that a share ``rate`` of the model's own draws falls below."""
    rng = np.random.default_rng(0)
    at_once = max(_FEW_NUMBERS // (classifier.n_features * len(classifier.classes)), 100)
    densities = []
    for start in range(0, _DRAWS, at_once):
        rows, _ = classifier.sample(min(at_once, _DRAWS - start), rng)
        if isinstance(rows, dict):  # columns by name
            import polars as pl

            columns = {name: column.tolist() for name, column in rows.items()}
            densities.append(classifier.log_density(pl.DataFrame(columns)))
        else:
            densities.append(classifier.log_density(rows))
    return float(np.quantile(np.concatenate(densities), rate))
