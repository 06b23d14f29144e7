"""Uncertainty of logistic coefficients, from the curvature of the loss at its minimum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from suffice.core.linalg import positive_factor, solve_factored
from suffice.core.model.information_criteria import aic, bic
from suffice.core.table.table import Table
from suffice.core.text.numbers import p_value
from suffice.core.text.tables import html_table, text_lines, titled_html
from suffice.discriminative.logistic_loss import Evaluation
from suffice.discriminative.penalty import gram
from suffice.discriminative.problem import Problem, coded_moments
from suffice.typing import Floats

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class LogisticSummary:
    r"""Coefficients of each class against the first, with their standard errors.

    Standard errors are the square roots of the diagonal of the inverse Hessian. With a penalty,
    standard errors describe the penalised fit, and AIC and BIC count effective parameters.
    """

    coefficients: Floats  # log odds of each class against the first, intercept first  (C, D)
    # covariance of the coefficients, sorted by class, then by term; NaN if aliased  (C·D, C·D)
    covariance: Floats
    # tr H⁻¹ H_loglik, which is the number of coefficients without penalty
    degrees_of_freedom: float
    log_likelihood: float
    null_log_likelihood: float  # log-likelihood of the model with intercepts only
    weight: float  # total weight of the rows
    l2: float
    classes: tuple[object, ...] = ()  # (K,)
    terms: tuple[str, ...] = ()  # (D,): "intercept", then the features
    level: float = 0.95

    @classmethod
    def of(cls, problem: Problem, point: Evaluation, l2: float) -> LogisticSummary:
        """Return the summary of a fit, given the problem and the minimum, which needs a Hessian."""
        c, d = point.phi.shape
        factor = positive_factor(point.required_hessian())
        inverse = solve_factored(factor, np.eye(c * d))
        pull = np.kron(gram(c + 1), np.diag(problem.objective.penalty))
        m = problem.moments
        equal_shares = 1 / np.full(c + 1, c + 1.0)
        shares = m.weights / m.total_weight if problem.scaling.lead else equal_shares
        return cls(
            coefficients=problem.scaling.to_original(point.phi),
            covariance=_in_original_units(problem, inverse.reshape(c, d, c, d)),
            # tr H⁻¹ (H − Λ)
            degrees_of_freedom=c * d - float(np.vdot(inverse, pull)),
            log_likelihood=-point.misfit,
            null_log_likelihood=float(m.weights @ np.log(shares)),
            weight=m.total_weight,
            l2=l2,
        )

    @classmethod
    def at(
        cls,
        table: Table,
        beta: Floats,
        l2: float,
        *,
        fit_intercept: bool = True,
    ) -> LogisticSummary:
        """Return the summary at given coefficients, computed in one pass over the rows."""
        moments = coded_moments(table)
        problem = Problem.of(table, moments, l2=l2, fit_intercept=fit_intercept)
        point = problem.objective.curve(problem.scaling.from_original(beta))
        return cls.of(problem, point, l2)

    @property
    def standard_errors(self) -> Floats:
        """Standard errors of the coefficients, (C, D)."""
        return np.sqrt(np.diagonal(self.covariance)).reshape(self.coefficients.shape)

    @property
    def z(self) -> Floats:
        """Coefficients divided by their standard errors, (C, D)."""
        return self.coefficients / self.standard_errors

    @property
    def p_values(self) -> Floats:
        """Two-sided normal p-values, (C, D), or NaN if rows are no more than coefficients."""
        if not self.has_enough_rows:
            return np.full(self.coefficients.shape, np.nan)
        return 2 * np.asarray(ndtr(-np.abs(self.z)))

    @property
    def has_enough_rows(self) -> bool:
        """Whether the weight of the rows exceeds the number of coefficients."""
        return bool(self.weight > np.count_nonzero(~np.isnan(self.standard_errors)))

    @property
    def odds_ratios(self) -> Floats:
        """Factor exp w by which the odds change for one more unit of a feature, (C, D)."""
        return np.exp(self.coefficients)

    @property
    def odds_intervals(self) -> tuple[Floats, Floats]:
        """Lower and upper ends of the confidence intervals of the odds ratios, each (C, D)."""
        half_width = float(ndtri(0.5 + self.level / 2)) * self.standard_errors
        with np.errstate(over="ignore"):
            lower = np.exp(self.coefficients - half_width)
            upper = np.exp(self.coefficients + half_width)
        return lower, upper

    @property
    def aic(self) -> float:
        """Akaike's criterion, 2 df − 2 log L."""
        return aic(self.log_likelihood, self.degrees_of_freedom)

    @property
    def bic(self) -> float:
        """Schwarz's criterion, df log n − 2 log L."""
        return bic(self.log_likelihood, self.degrees_of_freedom, self.weight)

    @property
    def pseudo_r2(self) -> float:
        """McFadden's 1 − log L / log L₀."""
        return 1 - self.log_likelihood / self.null_log_likelihood

    def columns(self) -> dict[str, Floats]:
        """Return the columns of the table by name, each (C, D)."""
        lower, upper = self.odds_intervals
        return {
            "coefficient": self.coefficients,
            "standard_error": self.standard_errors,
            "z": self.z,
            "p_value": self.p_values,
            "odds_ratio": self.odds_ratios,
            "odds_lower": lower,
            "odds_upper": upper,
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with a row for each coefficient, indexed by term and, if K > 2, class."""
        import pandas as pd

        if len(self.classes) > 2:
            index = pd.MultiIndex.from_product(
                [self.classes[1:], self.terms], names=["class", "term"]
            )
        else:
            index = pd.Index(self.terms, name="term")
        columns = {name: values.ravel() for name, values in self.columns().items()}
        return pd.DataFrame(columns, index=index)

    def __str__(self) -> str:
        head = (*_HEAD[:-1], f"{self.level:.0%} interval")
        lines = ["Logistic regression"]
        for title, rows in _tables(self):
            lines += ["", f"log odds of {title}", *text_lines(head, rows)]
        return "\n".join([*lines, "", *_totals(self)])

    def _repr_html_(self) -> str:
        tables = [html_table(_HEAD, rows, title) for title, rows in _tables(self)]
        return titled_html(
            "Logistic regression", *tables, f"<p>{'. '.join(_totals(self))}.</p>"
        )


_HEAD = ("", "coefficient", "std. error", "z", "p", "odds ratio", "interval")


def _tables(summary: LogisticSummary) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield the title and the rows of the table for each class against the first class."""
    columns = summary.columns()
    for c, label in enumerate(summary.classes[1:]):
        rows = []
        for j, term in enumerate(summary.terms):
            lower = columns["odds_lower"][c, j]
            upper = columns["odds_upper"][c, j]
            row = [
                term,
                f"{columns['coefficient'][c, j]:.5g}",
                f"{columns['standard_error'][c, j]:.4g}",
                f"{columns['z'][c, j]:.3f}",
                p_value(columns["p_value"][c, j]),
                f"{columns['odds_ratio'][c, j]:.4g}",
                f"{lower:.4g} to {upper:.4g}",
            ]
            rows.append(row)
        yield f"{label} against {summary.classes[0]}", rows


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
            f"The penalty (l2={s.l2:g}) shrinks the coefficients towards zero, and the standard "
            "errors describe the penalised fit. With l2=0, the fit is maximum likelihood"
        )
    if not s.has_enough_rows:
        yield (
            f"no tests: {s.weight:g} rows are too few for "
            f"{np.count_nonzero(~np.isnan(s.standard_errors))} coefficients (weights are treated "
            "as counts of rows)"
        )
    if not s.standard_errors.all() or np.isnan(s.standard_errors).any():
        yield (
            "nan: the column is constant or a combination of others, or the model has no "
            "intercept; the coefficient is zero"
        )


def _in_original_units(problem: Problem, inverse: Floats) -> Floats:
    """Return J Cov Jᵀ, where J maps φ to (w_0, w)."""
    c, d = inverse.shape[:2]
    jacobian = problem.scaling.to_original(np.eye(d)).T
    covariance = np.einsum("ij,ajbk,lk->aibl", jacobian, inverse, jacobian, optimize=True)
    held_at_zero = 1 + problem.aliased
    if not problem.scaling.lead:
        held_at_zero = np.append(held_at_zero, 0)
    covariance[:, held_at_zero] = np.nan
    covariance[:, :, :, held_at_zero] = np.nan
    return np.asarray(covariance.reshape(c * d, c * d))
