"""The rates that simulations gave: levels, powers, coverage, and whether they are in their band.

``results.csv`` beside this file holds a row for each test and setting, the last that was kept.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Self, TypeAlias

import numpy as np
from scipy.stats import binom

KEPT = Path(__file__).parent / "results.csv"
LOWEST = 0.02
HIGHEST = 0.075
HIGHEST_OF_FEW = 0.10
FEW_ROWS = 30
LOWEST_MISS = 0.015  # of an interval at 95 %: it covers in 92.5 to 98.5 %
FEWEST_TESTS = 20  # below which a rate is listed, but not judged
DOUBT = 0.05  # a rate is out of its band if one inside would be this rare
Verdict: TypeAlias = Literal["", "above", "below", "at most 5 %"]
# claims of one side, and alarms that promise at most 5 %
AT_MOST = (
    "Box's M, heavy tails",
    "a threshold is offered",
    "a useless column is called needed",
    "balanced accuracy above chance",
    "choice has fewer errors than the constant",
    "difference of errors",
    "difference of log-losses",
    "fewer errors than the constant",
    "less log-loss than the constant",
    "more rows would help",
    "outlier of the report",
    "posteriors are useless",
    "set of classes",
    "suspicious column or rows",
    "the future is worse",
    "unseen groups are worse",
)


@dataclass(frozen=True, slots=True)
class Rate:
    """How often one test was wrong in one setting, and how often it saw the effect."""

    test: str
    setting: str
    n_rows: int  # of the smaller side
    is_interval: bool
    repeats: int
    wrong: int  # alarms where nothing happened, or intervals that miss
    silent: int  # repeats without a test
    with_effect: int
    seen: int
    day: str

    @classmethod
    def of_row(cls, row: dict[str, str]) -> Self:
        """Return the rate that a row of the file holds."""
        counts = {name: int(row[name]) for name in _COUNTS}
        return cls(
            test=row["test"],
            setting=row["setting"],
            is_interval=row["is_interval"] == "True",
            day=row["day"],
            **counts,
        )

    @property
    def n_tests(self) -> int:
        """Repeats in which there was a test."""
        return self.repeats - self.silent

    @property
    def rate(self) -> float:
        """Share of the tests made that were wrong."""
        return self.wrong / max(self.n_tests, 1)

    @property
    def power(self) -> float:
        return self.seen / self.with_effect if self.with_effect else np.nan

    @property
    def most(self) -> float:
        """The largest rate of its band."""
        return HIGHEST if self.n_rows >= FEW_ROWS else HIGHEST_OF_FEW

    @property
    def least(self) -> float:
        """The smallest rate of its band, 0 where the words say "at most 5 %" or rows are few."""
        if self.is_interval:
            return LOWEST_MISS
        if self.is_at_most or self.n_rows < FEW_ROWS:
            return 0.0
        return LOWEST

    @property
    def is_at_most(self) -> bool:
        """Whether the words promise a rate of at most 5 %, no matter how far below."""
        return self.test.startswith(AT_MOST)

    @property
    def is_inside(self) -> bool:
        """Whether the rate itself lies in its band."""
        return self.least <= self.rate <= self.most

    @property
    def verdict(self) -> Verdict:
        """Whether the rate is above or below its band, beyond chance."""
        if binom.sf(self.wrong - 1, self.n_tests, self.most) < DOUBT:
            return "above"
        if binom.cdf(self.wrong, self.n_tests, self.least) < DOUBT:
            return "below"
        is_low = binom.cdf(self.wrong, self.n_tests, LOWEST) < DOUBT
        return "at most 5 %" if self.is_at_most and is_low else ""


_COUNTS = ("n_rows", "repeats", "wrong", "silent", "with_effect", "seen")


@dataclass
class _Tally:
    """What all repeats of one test in one setting found."""

    n_rows: int
    repeats: int = 0
    alarms: int = 0
    silent: int = 0
    with_effect: int = 0
    seen: int = 0
    ranges: list[list[float]] = field(default_factory=list)

    def rate(self, test: str, setting: str, day: str) -> Rate:
        wrong = self.alarms
        if self.ranges:
            low, high, truth = np.array(self.ranges).T
            mean = truth.mean()
            wrong = int(((low > mean) | (high < mean)).sum())
        return Rate(
            test=test,
            setting=setting,
            n_rows=self.n_rows,
            is_interval=bool(self.ranges)
            or test.startswith(("band of", "bar of", "importance of")),
            repeats=self.repeats,
            wrong=wrong,
            silent=self.silent,
            with_effect=self.with_effect,
            seen=self.seen,
            day=day,
        )


def rates_of_runs(files: Sequence[Path]) -> list[Rate]:
    """Return the rates that the lines of some runs add up to; raise if a case failed."""
    tallies: dict[tuple[str, str], _Tally] = {}
    for line in _lines(files):
        if line["n_failed"]:
            raise RuntimeError(f"{line['setting']}: {line['failures'][0]}")
        for test, n in line["counts"].items():
            tally = tallies.setdefault((test, line["setting"]), _Tally(line["n_rows"]))
            alarms = line["alarms"].get(test, 0)
            if line["has_effect"]:
                tally.with_effect += n
                tally.seen += alarms
                continue
            tally.repeats += n
            tally.alarms += alarms
            tally.silent += line["silent"].get(test, 0)
            tally.ranges += line["ranges"].get(test, [])
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    return [
        tally.rate(test, setting, day)
        for (test, setting), tally in tallies.items()
        if tally.repeats
    ]


def _lines(files: Iterable[Path]) -> Iterator[dict]:
    for path in files:
        for text in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(text)


def kept_rates() -> list[Rate]:
    """Return the rates that were kept, in the order of the file."""
    with KEPT.open(encoding="utf-8", newline="") as file:
        return [Rate.of_row(row) for row in csv.DictReader(file)]


def keep(files: Sequence[Path]) -> None:
    """Keep the rates of some runs, in place of those of the same tests and settings."""
    rates = {(rate.test, rate.setting): rate for rate in kept_rates()}
    for rate in rates_of_runs(files):
        rates[rate.test, rate.setting] = rate
    with KEPT.open("w", encoding="utf-8", newline="") as file:
        names = [each.name for each in fields(Rate)]
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        for key in sorted(rates, key=lambda key: key[0]):
            writer.writerow(asdict(rates[key]))
