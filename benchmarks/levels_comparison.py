"""Levels of a comparison: intervals of errors, and tests of pairs of exchangeable models."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from suffice.evaluate.comparison.comparison import compared, folds_for
from suffice.evaluate.comparison.models import ComparedModel
from suffice.typing import Codes, Floats, SklearnClassifier


@dataclass(frozen=True, slots=True)
class Setting:
    """Rows of two classes: two blocks of features, of equal worth for the class."""

    n_rows: int
    n_features: int  # of each block
    distance: float  # between the classes, in two features of each block
    share: float = 0.5  # of the second class

    def draw(self, rng: np.random.Generator) -> tuple[Floats, Codes]:
        """Return rows and labels, at least ten rows of each class."""
        while True:
            y = (rng.random(self.n_rows) < self.share).astype(np.intp)
            if np.bincount(y, minlength=2).min() >= 10:
                break
        X = rng.normal(size=(self.n_rows, 2 * self.n_features))
        d = self.n_features
        X[:, [0, 1, d, d + 1]] += self.distance * y[:, None]
        return X, y


SETTINGS = (
    Setting(40, 2, 1.0),
    Setting(40, 8, 1.0),
    Setting(100, 2, 0.8),
    Setting(100, 10, 0.8),
    Setting(100, 5, 0.8, share=0.2),
    Setting(100, 5, 2.0),
    Setting(300, 5, 0.7),
    Setting(300, 20, 0.7),
)


def _columns(X: Floats, first: int, last: int) -> Floats:
    return X[:, first:last]


LEARNERS: dict[str, Callable[[], SklearnClassifier]] = {
    "LDA": LinearDiscriminantAnalysis,
    "nearest neighbour": lambda: KNeighborsClassifier(1),
    "decision tree": lambda: DecisionTreeClassifier(random_state=0),
}


@dataclass(frozen=True, slots=True)
class Level:
    """How often intervals cover, and how often equal models differ significantly."""

    learner: str
    setting: Setting
    n_repeats: int
    coverage: float  # of the expected error, by 95 % intervals
    level: float  # share of p ≤ 0.05


def measure(learner: str, setting: Setting, n_repeats: int = 200, seed: int = 0) -> Level:
    """Return coverage and level of a learner in a setting."""
    d = setting.n_features
    models = []
    for b in (0, 1):
        columns = {"first": b * d, "last": (b + 1) * d}
        block = FunctionTransformer(_columns, kw_args=columns)
        models.append(ComparedModel(f"block {b}", make_pipeline(block, LEARNERS[learner]())))
    rng = np.random.default_rng(seed)
    errors = np.empty((n_repeats, 2))
    intervals = np.empty((n_repeats, 2, 2))
    p_values = np.empty(n_repeats)
    for r in range(n_repeats):
        X, y = setting.draw(rng)
        result = compared(tuple(models), folds_for(X, y, 10, None, None, r), r, progress=False)
        for b in (0, 1):
            outcome = result[f"block {b}"]
            errors[r, b] = outcome.error
            intervals[r, b] = outcome.interval
        p_values[r] = result.against("block 0").difference("block 1").p_value
    expected = errors.mean()
    covers = (intervals[..., 0] <= expected) & (expected <= intervals[..., 1])
    return Level(
        learner, setting, n_repeats, float(covers.mean()), float(np.mean(p_values <= 0.05))
    )


def main() -> None:
    """Print coverage and level of every learner in every setting."""
    for learner in LEARNERS:
        for setting in SETTINGS:
            print(measure(learner, setting))


if __name__ == "__main__":
    main()
