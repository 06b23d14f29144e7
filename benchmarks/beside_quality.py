"""Errors, log-losses, Brier scores and areas under the curve of two versions, on one split."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks.timing import table

MODELS = ("AutoGaussian", "AutoClassifier", "RDA", "LDA", "QDA", "GaussianNB")
MEASURES = ("error", "log_loss", "brier", "auc")
ROOT = Path(__file__).parents[1]


def compare_quality(this: Path, other: Path, results: Path, most_rows: int) -> str:
    """Return a row for each model and table whose figures differ, and a count of those that agree.

    Results are kept in a folder for each version, so that a run can be taken up again.
    """
    folders = {"this": results / "this", "other": results / "other"}
    for version, source in (("this", this), ("other", other)):
        folders[version].mkdir(parents=True, exist_ok=True)
        _run_quality(source, folders[version], most_rows)
    differing = []
    n_equal = 0
    for model in MODELS:
        mine = json.loads((folders["this"] / f"{model}.json").read_text())
        theirs = json.loads((folders["other"] / f"{model}.json").read_text())
        for name in sorted(mine.keys() & theirs.keys()):
            row = _differences(mine[name], theirs[name])
            if row:
                differing.append({"model": model, "table": name, **row})
            else:
                n_equal += 1
    summary = (
        f"{n_equal} pairs of a model and a table have the same figures in both versions.\n"
    )
    return f"{summary}\n{table(differing)}" if differing else summary


def _run_quality(source: Path, folder: Path, most_rows: int) -> None:
    """Judge every model with the code of one version; tables that are known are left out."""
    command = [sys.executable, "-m", "benchmarks", "quality", "--only", *MODELS]
    command += ["--most-rows", str(most_rows), "--results", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=True)


def _differences(mine: dict, theirs: dict) -> dict[str, str]:
    """Return the means of measures that differ, this version's first."""
    if "failed" in mine or "failed" in theirs:
        if mine.get("failed") == theirs.get("failed"):
            return {}
        return {"failed": f"{mine.get('failed', 'no')} | {theirs.get('failed', 'no')}"}
    row = {}
    for measure in MEASURES:
        if not np.allclose(mine[measure], theirs[measure], rtol=1e-9, atol=1e-12):
            row[measure] = f"{np.mean(mine[measure]):.5f} | {np.mean(theirs[measure]):.5f}"
    if not row:
        return {}
    return {measure: row.get(measure, "same") for measure in MEASURES}
