"""The tables of ``docs/levels.md``, written from the rates that were kept."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.levels.fresh import PREFIX
from benchmarks.levels.running import all_cases
from benchmarks.levels.summary import FEWEST_TESTS, Rate, kept_rates

PAGE = Path(__file__).parents[2] / "docs" / "levels.md"


def write_page() -> None:
    """Write the tables between their marks on the page."""
    rates = kept_rates()
    judged = [rate for rate in rates if rate.n_tests >= FEWEST_TESTS]
    text = PAGE.read_text(encoding="utf-8")
    for name, table in (
        ("summary", _summary(judged)),
        ("outside", _outside(judged)),
        ("fresh", _settings([rate for rate in rates if _is_fresh(rate)])),
        ("settings", _settings([rate for rate in rates if not _is_fresh(rate)])),
    ):
        mark = f"<!-- {name} -->"
        parts = text.split(mark)
        if len(parts) != 3:
            raise RuntimeError(f"{PAGE.name} has {len(parts) - 1} marks {mark}, expected 2")
        text = f"{parts[0]}{mark}\n\n{table}\n\n{mark}{parts[2]}"
    PAGE.write_text(text, encoding="utf-8")


def _is_fresh(rate: Rate) -> bool:
    return rate.setting.startswith(PREFIX)


def _summary(rates: Sequence[Rate]) -> str:
    """Return a row for each test: settings inside the band, extreme rates and least power."""
    lines = [
        "| test, interval or alarm | settings | in the band | least | most | least power |",
        "|---|---|---|---|---|---|",
    ]
    for test in dict.fromkeys(rate.test for rate in rates):
        of_test = [rate for rate in rates if rate.test == test]
        shares = [rate.rate for rate in of_test]
        powers = [rate.power for rate in of_test if not np.isnan(rate.power)]
        power = f"{min(powers):.2f}" if powers else ""
        n_inside = sum(rate.is_inside for rate in of_test)
        name = f"{test}, at most 5 %" if _promises_at_most(of_test[0]) else test
        lines.append(
            f"| {name} | {len(of_test)} | {n_inside} | {min(shares):.3f} | {max(shares):.3f} "
            f"| {power} |"
        )
    return "\n".join(lines)


def _promises_at_most(rate: Rate) -> bool:
    """Return whether the name of a test leaves out that it promises at most 5 %."""
    return rate.is_at_most and not rate.is_interval and "at most" not in rate.test


def _outside(rates: Sequence[Rate]) -> str:
    """Return the settings whose rate lies outside the band, and whether that may be chance."""
    outside = [rate for rate in rates if not rate.is_inside]
    if not outside:
        return "No rate lies outside its band."
    lines = [
        "| test | setting | tests | wrong | band | beyond chance |",
        "|---|---|---|---|---|---|",
    ]
    for rate in outside:
        is_sure = "yes" if rate.verdict in ("above", "below") else "no"
        lines.append(
            f"| {rate.test} | {rate.setting} | {rate.n_tests} | {rate.rate:.3f} "
            f"| {rate.least:g} to {rate.most:g} | {is_sure} |"
        )
    return "\n".join(lines)


def _settings(rates: Sequence[Rate]) -> str:
    """Return a row for each test and setting, in the order of the cases."""
    order = {case.setting: number for number, case in enumerate(all_cases())}
    lines = [
        "| test | setting | repeats | wrong | no test | power | band |",
        "|---|---|---|---|---|---|---|",
    ]
    for rate in sorted(rates, key=lambda rate: (rate.test, order[rate.setting])):
        power = "" if np.isnan(rate.power) else f"{rate.power:.2f}"
        silent = f"{rate.silent / rate.repeats:.2f}" if rate.silent else ""
        wrong = f"{rate.rate:.3f}" if rate.n_tests else ""
        setting = rate.setting.removeprefix(PREFIX)
        lines.append(
            f"| {rate.test} | {setting} | {rate.repeats} | {wrong} | {silent} "
            f"| {power} | {rate.verdict} |"
        )
    return "\n".join(lines)
