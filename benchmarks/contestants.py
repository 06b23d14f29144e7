"""The classifiers that ``quality`` compares: ours, and the peers' at their defaults.

Boosting sees categories and holes as they are; the other peers see holes imputed by means with
indicators, categories one-hot, and numbers standardised.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import suffice as sf

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 50  # rounds without a better log-loss of a sixth of the rows, held out
MOST_ROUNDS = 1000
MOST_ROWS = {"Gaussian process": 1000, "TabPFN v1": 1000}


def ours() -> dict[str, Callable[[], Any]]:
    return {
        "AutoGaussian": lambda: sf.AutoGaussian(),
        "AutoClassifier": lambda: sf.AutoClassifier(),
        "RDA": lambda: sf.RDA(missing="indicator"),
        "LDA": lambda: sf.LDA(),
        "QDA": lambda: sf.QDA(),
        "GaussianNB": lambda: sf.GaussianNB(),
    }


def peers() -> dict[str, Callable[[], Any]]:
    """Return the peers, quick ones first."""
    numbers: dict[str, Callable[[], Any]] = {
        "logistic": lambda: LogisticRegression(max_iter=2000),
        "RBF SVM": lambda: CalibratedClassifierCV(SVC(), ensemble=False),
        "extra trees": lambda: ExtraTreesClassifier(300, random_state=0),
        "random forest": lambda: RandomForestClassifier(300, random_state=0),
        "Gaussian process": lambda: GaussianProcessClassifier(1.0 * RBF(1.0), random_state=0),
    }
    piped = {name: _piped(make) for name, make in numbers.items()}
    return {
        "LightGBM": lambda: Boosted("LightGBM"),
        "LightGBM stopped": lambda: Boosted("LightGBM", stopped=True),
        "XGBoost": lambda: Boosted("XGBoost"),
        "XGBoost stopped": lambda: Boosted("XGBoost", stopped=True),
        **piped,
        "hist boosting": lambda: HistGradientBoostingClassifier(early_stopping=False),
        "hist boosting stopped": lambda: HistGradientBoostingClassifier(
            early_stopping=True,
            validation_fraction=1 / 6,
            n_iter_no_change=PATIENCE,
            max_iter=MOST_ROUNDS,
            random_state=0,
        ),
        "CatBoost stopped": lambda: Boosted("CatBoost", stopped=True),
        "EBM": lambda: _ebm(),
        "CatBoost": lambda: Boosted("CatBoost"),
    }


def _piped(make: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: make_pipeline(_numbers(), make())


def _numbers() -> Any:
    """Return the pipeline of peers that take complete numbers only."""
    filled = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_column_transformer(
        (filled, make_column_selector(dtype_include="number")),
        (levels, make_column_selector(dtype_exclude="number")),
    )


def _ebm() -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(n_jobs=1, random_state=0)


@dataclass
class Boosted:
    """A boosting library: its default number of rounds, or stopped by a sixth of the rows."""

    library: str
    stopped: bool = False
    model: Any = field(default=None, init=False)

    def fit(self, X: Any, y: Any) -> Boosted:
        """Learn from rows."""
        X = self._seen(X)
        held: dict[str, Any] = {}
        if self.stopped:
            X, rest, y, labels = train_test_split(
                X, y, test_size=1 / 6, stratify=y, random_state=0
            )
            held = {"eval_set": [(rest, labels)]}
        getattr(self, "_" + self.library.lower())(X, y, held)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return posteriors (n, K)."""
        return np.asarray(self.model.predict_proba(self._seen(X)))

    def _lightgbm(self, X: Any, y: Any, held: dict[str, Any]) -> None:
        from lightgbm import LGBMClassifier, early_stopping

        rounds = {"n_estimators": MOST_ROUNDS} if self.stopped else {}
        self.model = LGBMClassifier(verbose=-1, random_state=0, n_jobs=1, **rounds)
        calls = (
            {"callbacks": [early_stopping(PATIENCE, verbose=False)]} if self.stopped else {}
        )
        self.model.fit(X, y, **held, **calls)

    def _xgboost(self, X: Any, y: Any, held: dict[str, Any]) -> None:
        from xgboost import XGBClassifier

        rounds: dict[str, Any] = {}
        if self.stopped:
            rounds = {"n_estimators": MOST_ROUNDS, "early_stopping_rounds": PATIENCE}
        self.model = XGBClassifier(random_state=0, n_jobs=1, enable_categorical=True, **rounds)
        self.model.fit(X, y, verbose=False, **held)

    def _catboost(self, X: Any, y: Any, held: dict[str, Any]) -> None:
        from catboost import CatBoostClassifier

        levels = list(X.select_dtypes("object"))
        quiet = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
        rounds = {"early_stopping_rounds": PATIENCE} if self.stopped else {}
        self.model = CatBoostClassifier(cat_features=levels, random_seed=0, **quiet, **rounds)
        self.model.fit(X, y, **held)

    def _seen(self, X: Any) -> Any:
        """Return categories as CatBoost wants them: an empty one is a level of its own."""
        if self.library != "CatBoost":
            return X
        levels = {
            c: X[c].astype(object).fillna("(missing)") for c in X.select_dtypes("category")
        }
        return X.assign(**levels)
