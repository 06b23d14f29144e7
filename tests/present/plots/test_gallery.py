"""The code of the gallery runs, and every image on it exists."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "figures.md"


def example(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_every_block_of_the_gallery_draws_the_image_below_it():
    names = [
        name for name, figure in example("figures").gallery(PAGE.read_text()) if figure.axes
    ]
    assert names == re.findall(r"\]\((images/[^)]+)\)", PAGE.read_text())


@pytest.mark.parametrize("name", re.findall(r"\]\((images/[^)]+)\)", PAGE.read_text()))
def test_every_image_is_there_and_small(name):
    assert 1_000 < (PAGE.parent / name).stat().st_size < 150_000


def test_every_public_figure_is_in_the_gallery():
    from suffice import plots

    functions = [n for n in plots.__all__ if n.islower()]
    assert [n for n in functions if f"sf.plots.{n}(" not in PAGE.read_text()] == []


def test_the_partially_tied_example_names_both_kinds_of_boundary():
    ax = example("figures_partially_tied").figure()
    assert {text.get_text() for text in ax.texts} == {"hyperplane", "quadric"}
