"""Uncertainty of logistic coefficients, from the curvature of the loss at its minimum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr, ndtri

from suffice.core.linalg import positive_factor, solve_factored
from suffice.core.model.gaussian import bic
from suffice.core.table.table import Table
from suffice.core.text.numbers import p_value
from suffice.core.text.tables import html_table, text_lines, titled_html
from suffice.discriminative.design import Problem, coded_moments
from suffice.discriminative.logistic_loss import Evaluation, gram
from suffice.typing import Floats

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class LogisticSummary:
    r"""Coefficients of each class against the first, and how well they are known.

    Standard errors are the roots of the inverse Hessian's diagonal; with a penalty they describe
    the penalised fit, and AIC and BIC count effective parameters.
    """

    coefficients: Floats  # log odds of each class against the first, intercept first  (C, D)
    covariance: Floats  # (C·D, C·D), classes outside; NaN where aliased
    degrees_of_freedom: float  # tr H⁻¹ H_loglik; the number of coefficients without penalty
    log_likelihood: float
    null_log_likelihood: float  # of the model with intercepts only
    weight: float  # number of rows, or the sum of their weights
    l2: float
    classes: tuple[Any, ...] = ()  # (K,)
    terms: tuple[str, ...] = ()  # (D,): "intercept", then the features
    level: float = 0.95

    @classmethod
    def of(cls, problem: Problem, point: Evaluation, l2: float) -> LogisticSummary:
        """Return the inverse of the Hessian at the minimum."""
        c, d = point.phi.shape
        inverse = solve_factored(positive_factor(point.hessian), np.eye(c * d))
        pull = np.kron(gram(c + 1), np.diag(problem.objective.penalty))
        # tr H⁻¹ (H − Λ)
        freedom = c * d - float(np.vdot(inverse, pull))
        m = problem.moments
        shares = (
            m.weights / m.total_weight if problem.scaling.lead else 1 / np.full(c + 1, c + 1.0)
        )
        null = float(m.weights @ np.log(shares))
        beta = problem.scaling.to_original(point.phi)
        covariance = _in_original_units(problem, inverse.reshape(c, d, c, d))
        return cls(beta, covariance, freedom, -point.misfit, null, m.total_weight, l2)

    @classmethod
    def at(cls, table: Table, beta: Floats, l2: float, **posed: bool) -> LogisticSummary:
        """Return the inverse of the Hessian at given coefficients, in one pass over rows."""
        problem = Problem.of(table, coded_moments(table), l2=l2, **posed)
        return cls.of(
            problem, problem.objective.curve(problem.scaling.from_original(beta)), l2
        )

    @property
    def standard_errors(self) -> Floats:
        """Roots of the covariance's diagonal, (C, D)."""
        return np.sqrt(np.diagonal(self.covariance)).reshape(self.coefficients.shape)

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
        return bic(self.log_likelihood, self.degrees_of_freedom, self.weight)

    @property
    def pseudo_r2(self) -> float:
        """McFadden's 1 − log L / log L₀."""
        return 1 - self.log_likelihood / self.null_log_likelihood

    def columns(self) -> dict[str, Floats]:
        """Return the table by its columns, each (C, D)."""
        lower, upper = self.odds_intervals
        table = {"coefficient": self.coefficients, "standard_error": self.standard_errors}
        table |= {"z": self.z, "p_value": self.p_values, "odds_ratio": self.odds_ratios}
        return table | {"odds_lower": lower, "odds_upper": upper}

    def to_frame(self) -> pd.DataFrame:
        """Return a row per coefficient, indexed by term, or by class and term where K > 2."""
        import pandas as pd

        index: Any = pd.Index(self.terms, name="term")
        if len(self.classes) > 2:
            both = [self.classes[1:], self.terms]
            index = pd.MultiIndex.from_product(both, names=["class", "term"])
        return pd.DataFrame(
            {name: a.ravel() for name, a in self.columns().items()}, index=index
        )

    def __str__(self) -> str:
        head = (*_HEAD[:-1], f"{self.level:.0%} interval")
        tables = [
            ["", f"log odds of {who}", *text_lines(head, of)] for who, of in _tables(self)
        ]
        return "\n".join(["Logistic regression", *chain(*tables), "", *_totals(self)])

    def _repr_html_(self) -> str:
        tables = [html_table(_HEAD, rows, who) for who, rows in _tables(self)]
        return titled_html(
            "Logistic regression", *tables, f"<p>{'. '.join(_totals(self))}.</p>"
        )


_HEAD = ("", "coefficient", "std. error", "z", "p", "odds ratio", "interval")


def _tables(s: LogisticSummary) -> Iterator[tuple[str, Iterator[list[str]]]]:
    for label, *columns in zip(s.classes[1:], *s.columns().values(), strict=True):
        yield f"{label} against {s.classes[0]}", map(_cells, s.terms, *columns)


def _cells(term: str, w: float, error: float, z: float, p: float, *odds: float) -> list[str]:
    ratio, lower, upper = (f"{value:.4g}" for value in odds)
    return [
        term,
        f"{w:.5g}",
        f"{error:.4g}",
        f"{z:.3f}",
        p_value(p),
        ratio,
        f"{lower} to {upper}",
    ]


def _totals(s: LogisticSummary) -> Iterator[str]:
    yield (
        f"log-likelihood {s.log_likelihood:.6g} (intercepts only {s.null_log_likelihood:.6g}), "
        f"pseudo-R² {s.pseudo_r2:.4f}"
    )
    yield (
        f"AIC {s.aic:.6g}, BIC {s.bic:.6g}, {s.degrees_of_freedom:.4g} parameters, "
        f"{s.weight:g} rows"
    )
    if s.l2:
        yield (
            f"penalised (l2={s.l2:g}): coefficients are drawn towards zero and errors describe "
            "the penalised fit; l2=0 is maximum likelihood"
        )
    if not s.standard_errors.all() or np.isnan(s.standard_errors).any():
        yield (
            "nan: a constant column, a combination of the others, or an intercept not asked for; "
            "its coefficient is zero"
        )


def _in_original_units(problem: Problem, inverse: Floats) -> Floats:
    """Return J Cov Jᵀ, where J maps φ to (w_0, w)."""
    c, d = inverse.shape[:2]
    jacobian = problem.scaling.to_original(np.eye(d)).T
    covariance = np.einsum("ij,ajbk,lk->aibl", jacobian, inverse, jacobian, optimize=True)
    held = 1 + problem.aliased
    held = held if problem.scaling.lead else np.append(held, 0)
    covariance[:, held] = covariance[:, :, :, held] = np.nan
    return np.asarray(covariance.reshape(c * d, c * d))
