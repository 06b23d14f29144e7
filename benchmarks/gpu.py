"""Rows on a GPU: sums, fits and posteriors against one product, one read, and scikit-learn.

``python -m benchmarks gpu`` on a machine with CUDA and PyTorch; ``--quick`` a tenth of the rows.
Times are of CUDA events, the best of several in turn; "fit" is a whole ``fit``, seen by the host.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np

from benchmarks.timing import best_of, table

if TYPE_CHECKING:
    from collections.abc import Callable

SHAPES = [(2e7, 50, 10, "float32"), (2e7, 20, 100, "float32"), (1e7, 50, 10, "float64")]
SHAPES += [(4e6, 200, 10, "float32"), (4e6, 200, 10, "float64")]


def main(arguments: list[str]) -> None:
    import torch

    if not torch.cuda.is_available():
        print("no CUDA device here: nothing to measure")
        return
    torch.backends.cuda.matmul.allow_tf32 = False
    share = 10 if "--quick" in arguments else 1
    print(f"# gpu ({torch.cuda.get_device_name()}, torch {torch.__version__})\n")
    sums, answers = [], []
    for n, d, k, kind in SHAPES:
        x, y = rows(torch, int(n) // share, d, k, getattr(torch, kind))
        shape = {"rows": f"{n / share:.0e}", "d": d, "K": k, "type": kind}
        sums.append(shape | of_sums(torch, x, y, k))
        answers.append(shape | of_answers(torch, x, y))
        del x, y
        torch.cuda.empty_cache()
    print("Milliseconds; goals: scatters at most 2 × the Gram, 1.5 × at d = 200\n")
    print(table(sums) + "\n\nPosteriors, whole fits (ms)\n\n" + table(answers))
    print(
        "\n" + table(errors(torch)) + "\n\n" + table([of_logistic(torch, 10_000_000 // share)])
    )
    mixtures = [of_mixture(torch, int(n) // share, d) for n, d in ((1e6, 10), (4e6, 50))]
    print("\nEM of 3 classes, 4 components each\n\n" + table(mixtures))
    print(
        "\nParquet, summed here and there (s)\n\n"
        + table([of_stream(torch, 2_000_000 // share)])
    )


def rows(torch: Any, n: int, d: int, k: int, kind: Any) -> tuple[Any, Any]:
    g = torch.Generator("cuda").manual_seed(0)
    x = torch.randn(n, d, device="cuda", dtype=kind, generator=g)
    y = torch.randint(0, k, (n,), device="cuda", generator=g)
    x += 0.1 * y[:, None]
    return x, y


def milliseconds(torch: Any, cases: dict[str, Callable[[], Any]], rounds: int = 5) -> Any:
    """Return the least milliseconds of each case, by CUDA events."""
    best = dict.fromkeys(cases, float("inf"))
    for turn in range(-1, rounds):
        for name, call in cases.items():
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            call()
            end.record()
            torch.cuda.synchronize()
            if turn >= 0:
                best[name] = min(best[name], start.elapsed_time(end))
    return best


def of_sums(torch: Any, x: Any, y: Any, k: int) -> dict[str, Any]:
    import suffice as sf
    from suffice.core.moments.device import device_sums

    codes = y.to(torch.uint8)
    cases = {
        "read": x.sum,
        "gram": lambda: x.T @ x,
        "scatters": lambda: list(device_sums(x, codes, None, k, "per-class")),
        "moments": lambda: sf.Moments.of(x, y, storage="per-class"),
    }
    took = milliseconds(torch, cases)
    return took | {
        f"{name}/gram": took[name] / took["gram"] for name in ("scatters", "moments")
    }


def of_answers(torch: Any, x: Any, y: Any) -> dict[str, Any]:
    import sklearn
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    import suffice as sf

    lda, qda = sf.LDA().fit(x, y), sf.QDA().fit(x, y)
    k, d = len(lda.classes_), x.shape[1]
    narrow, wide = (torch.randn(d, m, device="cuda", dtype=x.dtype) for m in (k, k * d))
    part = x[: len(x) // 4]  # n × K d numbers of a dense product must fit
    took = milliseconds(
        torch,
        {
            "product": lambda: x @ narrow,
            "LDA proba": lambda: lda.predict_proba(x),
            "whitening/4": lambda: part @ wide,
            "QDA proba/4": lambda: qda.predict_proba(part),
            "LDA fit": lambda: sf.LDA().fit(x, y),
            "QDA fit": lambda: sf.QDA().fit(x, y),
        },
    )
    found = took | {
        "LDA/product": took["LDA proba"] / took["product"],
        "QDA/whitening": took["QDA proba/4"] / took["whitening/4"],
    }
    few = slice(0, len(x) // 10)
    copied = x[few].cpu().numpy(), y[few].cpu().numpy()
    host = best_of({"cpu": lambda: both(*copied)}, 2)
    found["fit+proba CPU/GPU"] = 1e4 * host["cpu"] / (took["LDA fit"] + took["LDA proba"])
    with sklearn.config_context(array_api_dispatch=True):
        theirs = LinearDiscriminantAnalysis()
        try:
            theirs.fit(x[few], y[few])
            torch.cuda.synchronize()
            start = time.perf_counter()
            theirs.fit(x[few], y[few]).predict_proba(x[few])
            torch.cuda.synchronize()
            spent = 1e3 * (time.perf_counter() - start)
            ours = milliseconds(torch, {"ours": lambda: both(x[few], y[few])}, 3)["ours"]
            found["scikit-learn/ours"] = spent / ours
        except Exception as error:
            found["scikit-learn/ours"] = type(error).__name__
    return found


def of_logistic(torch: Any, n: int) -> dict[str, Any]:
    """Return milliseconds of logistic regression, against one weighted product of its rows."""
    import suffice as sf

    x, y = rows(torch, n, 100, 2, torch.float32)
    cases = {
        "gram float64": lambda: x[: n // 4].double().T @ x[: n // 4].double(),
        "logistic": lambda: sf.LogisticRegression().fit(x, y),
    }
    took = milliseconds(torch, cases, 3)
    steps = sf.LogisticRegression().fit(x, y).n_iter_
    return {"rows": f"{n:.0e}", "d": 100, "steps": steps, **took}


def of_mixture(torch: Any, n: int, d: int) -> dict[str, Any]:
    """Return seconds of whole fits of mixtures, here and there, with as many steps of EM."""
    import suffice as sf

    x, y = rows(torch, n, d, 3, torch.float64)
    x[::3, 0] += 3
    there, here = (x, y), (x.cpu().numpy(), y.cpu().numpy())
    how = sf.MixtureClassifier(4, n_init=1, tol=1e-4, n_jobs=-1)
    cases = {"GPU": lambda: how.fit(*there), "CPU": lambda: how.fit(*here)}
    took, steps = best_of(cases, 2), how.fit(*there).n_iter_
    return {
        "rows": f"{n:.0e}",
        "d": d,
        "steps": steps,
        **took,
        "CPU/GPU": took["CPU"] / took["GPU"],
    }


def of_stream(torch: Any, n: int, d: int = 100) -> dict[str, Any]:
    """Return seconds of reading a file, and of its sums."""
    import polars as pl

    import suffice as sf

    x, y = (a.cpu().numpy() for a in rows(torch, n, d, 5, torch.float64))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        frame = pl.DataFrame({f"x{j}": x[:, j] for j in range(d)} | {"y": y})
        frame.write_parquet(path, compression="uncompressed")
        cases = {
            "polars alone": lambda: [
                b.height for b in pl.scan_parquet(path).collect_batches()
            ],
            "CPU": lambda: sf.summarize(path, "y", n_jobs=-1),
            "GPU": lambda: sf.summarize(path, "y", on="cuda", n_jobs=2),
        }
        return {"rows": f"{n:.0e}", "d": d, **best_of(cases, 3)}


def both(x: Any, y: Any) -> Any:
    import suffice as sf

    return sf.LDA(n_jobs=2).fit(x, y).predict_proba(x)


def errors(torch: Any) -> list[dict[str, Any]]:
    """Return relative errors of the scatter, far from the origin and near it."""
    import suffice as sf

    found = []
    for kind, offset in (
        ("float64", 0.0),
        ("float64", 1e8),
        ("float32", 0.0),
        ("float32", 1e3),
    ):
        x, y = rows(torch, 200_000, 50, 10, torch.float64)
        x = (x + offset).to(getattr(torch, kind))
        here = sf.Moments.of(x.cpu().numpy().astype(np.float64), y.cpu().numpy(), fourth=False)
        there = sf.Moments.of(x, y)
        gap = np.abs(there.scatters - here.scatters).max() / np.abs(here.scatters).max()
        found.append({"type": kind, "offset": offset, "scatter": f"{gap:.1e}"})
        half = len(x) // 2
        a = sf.Moments.of(x[:half], y[:half]) + sf.Moments.of(
            x[half:].cpu().numpy(), y[half:].cpu().numpy(), fourth=False
        )
        merged = np.abs(a.scatters - here.scatters).max() / np.abs(here.scatters).max()
        found[-1]["half and half"] = f"{merged:.1e}"
        same = sf.Moments.of(x, y).scatters.tobytes() == there.scatters.tobytes()
        found[-1]["same bits twice"] = same
    return found
