"""Every figure of ``suffice plot`` says which model, rows and folds it shows."""

import pytest

from suffice.cli.data import Data
from suffice.cli.plot import _caption


@pytest.mark.parametrize(
    ("kind", "model", "caption"),
    [
        ("pairs", "lda", "rows of iris"),
        ("decision-regions", "qda", "model qda, fitted to all rows of iris"),
        ("roc", "lda", "model lda, rows of iris held out in 10 folds"),
        ("roc", "old/iris.suffice", "model iris.suffice, rows of iris"),
    ],
)
def test_a_caption_names_model_rows_and_folds(kind, model, caption):
    assert _caption(kind, model, Data("iris")) == caption


def test_the_caption_is_in_the_figure(ok, tmp_path):
    ok("plot", "decision-regions", "iris", "-o", "regions.svg", "--set", "resolution=20")
    assert "fitted to all rows of iris" in (tmp_path / "regions.svg").read_text()
