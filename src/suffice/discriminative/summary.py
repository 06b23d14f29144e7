"""A table of logistic coefficients with their uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr, ndtri

if TYPE_CHECKING:
    import pandas as pd

    from suffice.typing import Floats


@dataclass(frozen=True, slots=True, eq=False)
class LogisticSummary:
    r"""Coefficients of each class against the first, and how well they are known.

    Standard errors are the roots of the inverse Hessian's diagonal, z = coefficient / error, p
    two-sided normal, and the interval of an odds ratio is exp(coefficient ± z error). With a
    penalty the errors describe the penalised fit, and AIC and BIC count effective parameters.

    References
    ----------
    McFadden (1974), pseudo-R² = 1 − log L / log L of the model with intercepts only.
    """

    terms: tuple[str, ...]  # (D,): "intercept", then the features
    classes: tuple[Any, ...]  # (K,); coefficients are of each after the first, against the first
    coefficients: Floats  # (C, D)
    standard_errors: Floats  # (C, D)
    log_likelihood: float
    null_log_likelihood: float  # of the model with intercepts only
    weight: float  # number of rows, or the sum of their weights
    degrees_of_freedom: float
    l2: float
    level: float = 0.95

    @property
    def z(self) -> Floats:
        """Coefficients in standard errors, (C, D)."""
        return self.coefficients / self.standard_errors

    @property
    def p_values(self) -> Floats:
        """Two-sided normal p-values, (C, D)."""
        return 2 * np.asarray(ndtr(-np.abs(self.z)))

    @property
    def odds_ratios(self) -> Floats:
        """Factor on the odds for one more unit of a feature, exp w, (C, D)."""
        return np.exp(self.coefficients)

    @property
    def odds_intervals(self) -> tuple[Floats, Floats]:
        """Lower and upper ends of the confidence intervals of the odds ratios, each (C, D)."""
        reach = float(ndtri(0.5 + self.level / 2)) * self.standard_errors
        with np.errstate(over="ignore"):
            return np.exp(self.coefficients - reach), np.exp(self.coefficients + reach)

    @property
    def aic(self) -> float:
        """Akaike's criterion, 2 df − 2 log L."""
        return 2 * self.degrees_of_freedom - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Schwarz's criterion, df log n − 2 log L."""
        return self.degrees_of_freedom * float(np.log(self.weight)) - 2 * self.log_likelihood

    @property
    def pseudo_r2(self) -> float:
        """McFadden's 1 − log L / log L₀."""
        return 1 - self.log_likelihood / self.null_log_likelihood

    def to_frame(self) -> pd.DataFrame:
        """Return a row per coefficient, indexed by term, or by class and term where K > 2."""
        import pandas as pd

        lower, upper = self.odds_intervals
        columns = {
            "coefficient": self.coefficients,
            "standard_error": self.standard_errors,
            "z": self.z,
            "p_value": self.p_values,
            "odds_ratio": self.odds_ratios,
            "odds_lower": lower,
            "odds_upper": upper,
        }
        names: Any = pd.MultiIndex.from_product(
            [self.classes[1:], self.terms], names=["class", "term"]
        )
        index = pd.Index(self.terms, name="term") if len(self.classes) == 2 else names
        return pd.DataFrame({name: a.ravel() for name, a in columns.items()}, index=index)

    def __str__(self) -> str:
        from suffice.discriminative.summary_text import summary_text

        return summary_text(self)
