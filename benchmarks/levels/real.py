"""Two halves of real tables, compared by ``suffice drift``: as they are, and one column shifted."""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from click.testing import CliRunner

from suffice.cli.group import suffice

MOST_NEW = 500
MOST_ROWS = 20_000
SHIFT = 0.5  # standard deviations


def compare_halves(folders: list[Path], seed: int) -> None:
    """Print the alarms on random halves, and whether a shifted column is named."""
    print("| table | rows | new rows | alarm | shifted column | named |")
    print("|---|---|---|---|---|---|")
    alarms = 0
    named = 0
    n_tables = 0
    for name, frame, target in _tables(folders):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(frame))[:MOST_ROWS]
        half = len(order) // 2
        old = frame.iloc[order[:half]]
        new = frame.iloc[order[half:]].drop(columns=target)
        column = informative_column(old, target)
        if column is None:
            print(f"| {name} | {len(frame)} | | no number varies within classes | | |")
            continue
        shifted = new[:MOST_NEW].copy()
        shifted[column] = shifted[column] + SHIFT * old[column].std()
        try:
            moved, moved_by_shift = _moved(old, target, [new, shifted])
        except RuntimeError as error:
            print(f"| {name} | {len(frame)} | | {error} | | |")
            continue
        n_tables += 1
        alarms += bool(moved)
        named += column in moved_by_shift
        print(
            f"| {name} | {len(frame)} | {len(shifted)} | {', '.join(moved)} | {column} "
            f"| {'yes' if column in moved_by_shift else 'no'} |",
            flush=True,
        )
    print(
        f"\n{n_tables} tables: {alarms} alarms on halves, the shifted column named in {named}"
    )


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


def _moved(old: pd.DataFrame, target: str, news: list[pd.DataFrame]) -> list[list[str]]:
    """Return the columns that ``suffice drift`` says have moved, for each table of new rows."""
    with TemporaryDirectory() as folder:
        here = Path(folder)
        old.to_csv(here / "old.csv", index=False)
        model = here / "model.suffice"
        _suffice("fit", here / "old.csv", "--target", target, "--model", "lda", "-o", model)
        moved = []
        for i, new in enumerate(news):
            path = here / f"new{i}.csv"
            new.to_csv(path, index=False)
            answer = json.loads(_suffice("drift", model, path, "--json"))
            moved.append(list(answer["moved"]))
        return moved


def _suffice(*arguments: object) -> str:
    """Return what a command prints; it runs in this process, which spares the imports."""
    done = CliRunner().invoke(suffice, [str(argument) for argument in arguments])
    if done.exit_code:
        raise RuntimeError(done.stderr.strip().splitlines()[-1][:120])
    return done.stdout


def _tables(folders: list[Path]) -> Iterator[tuple[str, pd.DataFrame, str]]:
    """Yield name, rows and target of every table: CSV files, scikit-learn's and suffice's."""
    from sklearn import datasets

    for folder in folders:
        for path in sorted(folder.glob("**/*.csv")):
            frame = pd.read_csv(path)
            if len(frame) >= 60 and frame.shape[1] >= 2:
                yield path.stem, frame, str(frame.columns[-1])
    loaders = (
        datasets.load_iris,
        datasets.load_wine,
        datasets.load_breast_cancer,
        datasets.load_digits,
    )
    for load in loaders:
        yield load.__name__.removeprefix("load_"), load(as_frame=True).frame, "target"
