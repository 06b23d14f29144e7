"""The results of runs as a table: levels, powers, coverage, and whether they are in their band."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.stats import binom

LOWEST = 0.02
HIGHEST = 0.075
HIGHEST_OF_FEW = 0.10
FEW_ROWS = 30
LOWEST_MISS = 0.015  # of an interval at 95 %: it covers in 92.5 to 98.5 %
DOUBT = 0.05  # a rate is out of its band if one inside would be this rare
# claims of one side, and alarms that promise at most 5 %
AT_MOST = (
    "Box's M, at most 5 %",
    "a threshold is offered",
    "a useless column is called needed",
    "balanced accuracy above chance",
    "choice has fewer errors than the constant",
    "difference of errors",
    "difference of log-losses",
    "fewer errors than the constant",
    "less log-loss than the constant",
    "set of classes",
    "suspicious column or rows",
    "the future is worse",
    "unseen groups are worse",
)


@dataclass
class Tally:
    """What all repeats of one test in one setting found."""

    test: str
    setting: str
    n_rows: int
    effect: str
    repeats: int = 0
    alarms: int = 0
    silent: int = 0
    with_effect: int = 0
    seen: int = 0
    ranges: list[list[float]] = field(default_factory=list)
    failures: int = 0

    @property
    def is_interval(self) -> bool:
        return bool(self.ranges)

    def settled(self) -> None:
        """Count the intervals that miss the mean of what they should cover."""
        if self.ranges:
            low, high, truth = np.array(self.ranges).T
            mean = truth.mean()
            self.alarms = int(((low > mean) | (high < mean)).sum())

    @property
    def rate(self) -> float:
        return self.alarms / max(self.repeats, 1)

    @property
    def power(self) -> float:
        return self.seen / self.with_effect if self.with_effect else np.nan

    @property
    def verdict(self) -> str:
        """Whether the rate is above or below its band, beyond chance."""
        most = HIGHEST if self.n_rows >= FEW_ROWS else HIGHEST_OF_FEW
        least = LOWEST_MISS if self.is_interval else LOWEST
        if binom.sf(self.alarms - 1, self.repeats, most) < DOUBT:
            return "above"
        can_be_low = self.test.startswith(AT_MOST) or self.n_rows < FEW_ROWS
        if not can_be_low and binom.cdf(self.alarms, self.repeats, least) < DOUBT:
            return "below"
        return ""


def tallies(files: Sequence[Path]) -> list[Tally]:
    """Return the tallies of all lines of some files."""
    found: dict[tuple[str, str], Tally] = {}
    for line in _lines(files):
        for test, n in line["counts"].items():
            key = test, line["setting"]
            if key not in found:
                found[key] = Tally(test, line["setting"], line["n_rows"], line["effect"])
            tally = found[key]
            alarms = line["alarms"].get(test, 0)
            if line["has_effect"]:
                tally.with_effect += n
                tally.seen += alarms
                continue
            tally.repeats += n
            tally.alarms += alarms
            tally.silent += line["silent"].get(test, 0)
            tally.ranges += line["ranges"].get(test, [])
            tally.failures += line["n_failed"]
    for tally in found.values():
        tally.settled()
    return list(found.values())


def _lines(files: Iterable[Path]) -> Iterator[dict]:
    for path in files:
        for text in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(text)


def print_table(files: Sequence[Path], *, only_out_of_band: bool) -> None:
    """Print a row for each test and setting, then how many are out of their band."""
    rows = tallies(files)
    rows.sort(key=lambda tally: tally.test)
    print("| test | setting | repeats | wrong | silent | power | band |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        if only_out_of_band and not row.verdict:
            continue
        power = "" if np.isnan(row.power) else f"{row.power:.2f}"
        silent = f"{row.silent / max(row.repeats, 1):.2f}" if row.silent else ""
        print(
            f"| {row.test} | {row.setting} | {row.repeats} | {row.rate:.3f} | {silent} | {power} "
            f"| {row.verdict} |"
        )
    print()
    for test in dict.fromkeys(row.test for row in rows):
        of_test = [row for row in rows if row.test == test]
        verdicts = [row.verdict for row in of_test]
        rates = [row.rate for row in of_test]
        print(
            f"{test}: {len(of_test)} settings, {min(rates):.3f} to {max(rates):.3f}, "
            f"{verdicts.count('above')} above, {verdicts.count('below')} below"
        )
    failures = {row.setting: row.failures for row in rows if row.failures}
    print(f"failures: {failures or 'none'}")
