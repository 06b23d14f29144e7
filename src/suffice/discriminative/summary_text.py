"""A summary as lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from suffice.discriminative.summary import LogisticSummary


def summary_text(summary: LogisticSummary) -> str:
    """Return the table, one block per class, with its totals below."""
    return "\n".join(_lines(summary))


def _lines(s: LogisticSummary) -> Iterator[str]:
    wide = max(map(len, s.terms))
    reach = f"{s.level:.0%} interval"
    head = f"{'':{wide}} {'coefficient':>12} {'std. error':>11} {'z':>8} {'p':>8} "
    yield "Logistic regression"
    for k, label in enumerate(s.classes[1:]):
        yield ""
        yield f"log odds of {label!s} against {s.classes[0]!s}"
        yield f"{head} {'odds ratio':>11}  {reach:>23}"
        yield from (_line(s, k, j, wide) for j in range(len(s.terms)))
    yield ""
    yield from _totals(s)


def _line(s: LogisticSummary, k: int, j: int, wide: int) -> str:
    lower, upper = (end[k, j] for end in s.odds_intervals)
    return (
        f"{s.terms[j]:{wide}} {s.coefficients[k, j]:12.5g} {s.standard_errors[k, j]:11.4g} "
        f"{s.z[k, j]:8.3f} {_p_value(s.p_values[k, j]):>8}  "
        f"{s.odds_ratios[k, j]:11.4g}  {f'{lower:.4g} to {upper:.4g}':>23}"
    )


def _p_value(p: float) -> str:
    return "< 0.0001" if p < 1e-4 else f"{p:.4f}"


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
    if not s.standard_errors.all() or (s.standard_errors != s.standard_errors).any():
        yield "nan: a constant column, or a combination of the others; its coefficient is zero"
