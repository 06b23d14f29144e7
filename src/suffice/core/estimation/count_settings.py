"""The settings of a count classifier in one value, which raises an error for contradictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from suffice.core.checks import is_number
from suffice.core.decision.bayes_decision import CostsLike
from suffice.core.decision.classifier import check_temperature
from suffice.core.estimation.priors import Priors, check_priors, class_priors
from suffice.core.moments.count_sums import check_threshold
from suffice.errors import InvalidParameterError, require_word
from suffice.typing import Floats, Labels

KindWord: TypeAlias = Literal["multinomial", "complement", "bernoulli", "poisson"]
KINDS = ("multinomial", "complement", "bernoulli", "poisson")
AlphaLike: TypeAlias = float | Literal["auto"]
TemperatureLike: TypeAlias = float | Literal["auto"]


@dataclass(frozen=True, slots=True, eq=False)
class CountSettings:
    """Settings that turn sums of counts into a classifier."""

    kind: KindWord = "multinomial"
    alpha: AlphaLike = 1.0  # pseudo-count of each feature in each class
    priors: Priors = None
    costs: CostsLike = None
    temperature: TemperatureLike = 1.0
    binarize: float = 0.0  # used by the Bernoulli model only
    text: str | None = None  # name of the text column whose words are counted

    def __post_init__(self) -> None:
        require_word(self.kind, KINDS, "kind")
        check_alpha(self.alpha, may_be_auto=True)
        check_priors(self.priors)
        check_threshold(self.binarize)
        _check_text(self.text)
        if self.temperature != "auto":
            check_temperature(self.temperature)

    @property
    def threshold(self) -> float | None:
        """The threshold that the sums must have, or None if they must be sums of counts."""
        return float(self.binarize) if self.kind == "bernoulli" else None

    @property
    def open_settings(self) -> tuple[str, ...]:
        """Names of the settings with the value "auto"."""
        named = (("alpha", self.alpha), ("temperature", self.temperature))
        return tuple(name for name, value in named if isinstance(value, str))

    def pseudo_count(self) -> float:
        """Return α, or raise if it has not been chosen yet."""
        if isinstance(self.alpha, str):
            raise InvalidParameterError(
                "alpha='auto' is chosen by leave-one-out, which needs rows: call fit(X, y), or "
                "give a number"
            )
        return float(self.alpha)

    def class_priors(self, classes: Labels, weights: Floats) -> Floats:
        """Return π (K,)."""
        return class_priors(self.priors, classes, weights)


def _check_text(text: object) -> None:
    if text is None or (isinstance(text, str) and text):
        return
    raise InvalidParameterError(
        "text must be the name of a text column, or None where columns are counts; got "
        f"{text!r}"
    )


def check_alpha(alpha: object, *, may_be_auto: bool) -> None:
    """Raise unless the value is a pseudo-count."""
    if may_be_auto and isinstance(alpha, str) and alpha == "auto":
        return
    if not is_number(alpha) or not 0 < alpha < np.inf:
        words = "a positive number or 'auto'" if may_be_auto else "a positive number"
        raise InvalidParameterError(
            f"alpha must be {words}, got {alpha!r}. It is added to every count, so that a word "
            "that is new to a class has a positive probability"
        )
