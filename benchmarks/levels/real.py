"""Two halves of real tables, compared by ``suffice drift``: as they are, and one column shifted."""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pandas as pd
from click.testing import CliRunner

from suffice.cli.group import suffice

NEW_ROWS = 500
LEAST_ROWS = 60
LEAST_FITTED = 100  # rows that are left where 500 are new; else half of the rows are new
MOST_ROWS = 20_000
SHIFT = 0.5  # standard deviations


def compare_halves(folders: list[Path], seed: int) -> None:
    """Print the alarms on random halves, and whether a shifted column is named."""
    print("| table | rows | alarm on halves | new rows | shifted column | named |")
    print("|---|---|---|---|---|---|")
    halves: list[bool] = []
    named_of_500: list[bool] = []
    named_of_fewer: list[bool] = []
    for name, frame, target in _tables(folders):
        rng = np.random.default_rng(seed)
        rows = frame.iloc[rng.permutation(len(frame))[:MOST_ROWS]]
        try:
            alarm = _moved_in_half(rows, target)
            shift = _shifted(rows, target)
        except RuntimeError as error:
            print(f"| {name} | {len(frame)} | {error} | | | |")
            continue
        halves.append(bool(alarm))
        line = f"| {name} | {len(frame)} | {', '.join(alarm)} |"
        if shift is None:
            print(f"{line} | no number varies within classes | |")
            continue
        if shift.n_new == NEW_ROWS:
            named_of_500.append(shift.is_named)
        else:
            named_of_fewer.append(shift.is_named)
        answer = "yes" if shift.is_named else "no"
        print(f"{line} {shift.n_new} | {shift.column} | {answer} |", flush=True)
    print(
        f"\nHalves: {sum(halves)} alarms in {len(halves)} tables. The shifted column was named in "
        f"{sum(named_of_500)} of {len(named_of_500)} tables with {NEW_ROWS} new rows, and in "
        f"{sum(named_of_fewer)} of {len(named_of_fewer)} with fewer."
    )


class Shift(NamedTuple):
    """What was found in new rows, one column of which is shifted."""

    column: str
    n_new: int
    is_named: bool


def _moved_in_half(rows: pd.DataFrame, target: str) -> list[str]:
    """Return the columns that have moved between two halves of rows in random order."""
    half = len(rows) // 2
    return _moved(rows[:half], target, rows[half:].drop(columns=target))


def _shifted(rows: pd.DataFrame, target: str) -> Shift | None:
    """Return whether a shifted column is named, None where no number varies within classes."""
    n_new = NEW_ROWS if len(rows) >= NEW_ROWS + LEAST_FITTED else len(rows) - len(rows) // 2
    old = rows[:-n_new]
    new = rows[-n_new:].drop(columns=target)
    column = informative_column(old, target)
    if column is None:
        return None
    shifted = new.assign(**{column: new[column] + SHIFT * old[column].std()})
    return Shift(column, n_new, column in _moved(old, target, shifted))


def informative_column(frame: pd.DataFrame, target: str) -> str | None:
    """Return the number whose means differ most between classes, by its F ratio."""
    ratios = {}
    numbers = frame.drop(columns=target).select_dtypes("number")
    for name in numbers.columns:
        values = frame[name]
        if values.nunique() < 3:
            continue
        groups = values.groupby(frame[target], observed=True)
        within = (values - groups.transform("mean")).var()
        between = groups.transform("mean").var()
        if within > 0:
            ratios[str(name)] = between / within
    return max(ratios, key=ratios.__getitem__) if ratios else None


def _moved(old: pd.DataFrame, target: str, new: pd.DataFrame) -> list[str]:
    """Return the columns that ``suffice drift`` says have moved."""
    with TemporaryDirectory() as folder:
        here = Path(folder)
        model = here / "model.suffice"
        old.to_csv(here / "old.csv", index=False)
        new.to_csv(here / "new.csv", index=False)
        _suffice("fit", here / "old.csv", "--target", target, "--model", "lda", "-o", model)
        return list(json.loads(_suffice("drift", model, here / "new.csv", "--json"))["moved"])


def _suffice(*arguments: object) -> str:
    """Return what a command prints; it runs in this process, which spares the imports."""
    done = CliRunner().invoke(suffice, [str(argument) for argument in arguments])
    if done.exit_code:
        raise RuntimeError(done.stderr.strip().splitlines()[-1][:120])
    return done.stdout


def _tables(folders: list[Path]) -> Iterator[tuple[str, pd.DataFrame, str]]:
    """Yield name, rows and target of every table: CSV files and scikit-learn's, each once."""
    from sklearn import datasets

    names: set[str] = set()
    for folder in folders:
        for path in sorted(folder.glob("**/*.csv")):
            frame = pd.read_csv(path)
            if path.stem in names or len(frame) < LEAST_ROWS or frame.shape[1] < 2:
                continue
            names.add(path.stem)
            yield path.stem, frame, str(frame.columns[-1])
    loaders = (
        datasets.load_iris,
        datasets.load_wine,
        datasets.load_breast_cancer,
        datasets.load_digits,
        datasets.load_diabetes,
    )
    for load in loaders:
        name = load.__name__.removeprefix("load_")
        if name in names:
            continue
        frame = load(as_frame=True).frame
        if name == "diabetes":
            # the progression of the disease, above its median or not
            frame["target"] = (frame["target"] > frame["target"].median()).map(str)
        yield name, frame, "target"
