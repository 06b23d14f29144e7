"""The outcome of a comparison in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from suffice.evaluation.diagnostics.words import LEVEL, p_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FEW = 5  # names that are listed in full


def verdict_of(
    best: str, error: float, p_values: Mapping[str, float], failed: Sequence[str]
) -> str:
    """Return who is best, who cannot be told apart from it, who is worse, and who failed.

    ``p_values`` are those of all others against the best; NaN where there was no test.

    Examples
    --------
    >>> verdict_of("LDA", 0.02, {"logistic regression": 0.6, "QDA": 0.004}, [])
    'Least error: LDA, 2.0 %. LDA and logistic regression cannot be told apart (p = 0.6); QDA is
    worse (p = 0.004).'
    """
    alike = {name: p for name, p in p_values.items() if p > LEVEL}
    worse = {name: p for name, p in p_values.items() if p <= LEVEL}
    untold = [name for name in p_values if name not in alike and name not in worse]
    parts = [
        *([_alike(best, alike, len(p_values))] if alike else []),
        *([_worse(worse)] if worse else []),
        *([f"One fold cannot tell {listed([best, *untold])} apart"] if untold else []),
        *([f"{listed(failed)} failed"] if failed else []),
    ]
    return " ".join([f"Least error: {best}, {100 * error:.1f} %.", *_sentence(parts)])


def _sentence(parts: Sequence[str]) -> list[str]:
    return [f"{'; '.join(parts)}."] if parts else []


def listed(names: Sequence[str]) -> str:
    """Return names as people list them, the first few of many."""
    if len(names) > FEW:
        return f"{', '.join(names[: FEW - 1])} and {len(names) - FEW + 1} others"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _alike(best: str, alike: Mapping[str, float], n_others: int) -> str:
    least = min(alike.values())
    said = p_text(least) if len(alike) == 1 or least == 1 else p_text(least).replace("=", "≥")
    if len(alike) == n_others > FEW - 1:
        return f"None of the {n_others} others can be told apart from it ({said})"
    return f"{listed([best, *alike])} cannot be told apart ({said})"


def _worse(worse: Mapping[str, float]) -> str:
    """Return who is worse: each with its p-value, or many with the greatest."""
    if len(worse) == 1:
        return "".join(f"{name} is worse ({p_text(p)})" for name, p in worse.items())
    if len(worse) > FEW:
        most = p_text(max(worse.values())).replace("=", "≤")
        return f"{listed(list(worse))} are worse ({most})"
    return f"{listed([f'{name} ({p_text(p)})' for name, p in worse.items()])} are worse"
