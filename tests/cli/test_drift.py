"""``suffice drift``: what has moved is named, in words, as JSON and as a picture."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def model(ok):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200), "c": rng.choice(["u", "v"], 200)})
    labelled = frame.assign(target=np.where(frame["a"] > 0, "yes", "no"))
    labelled.to_csv("old.csv", index=False)
    fresh = frame.assign(c=np.where(np.arange(200) < 90, "new", frame["c"]))
    fresh.to_csv("new.csv", index=False)
    ok("fit", "old.csv", "-t", "target", "-m", "lda", "-o", "m.suffice")
    return "m.suffice"


def test_a_new_level_is_named_and_drawn(model, ok):
    assert "moved: 'c'" in ok("drift", model, "new.csv", "-o", "drift.png")
    assert Path("drift.png").read_bytes().startswith(b"\x89PNG")


def test_json_holds_every_column(model, ok_json):
    found = ok_json("drift", model, "old.csv")
    assert found["moved"] == []
    assert {row["column"] for row in found["columns"]} == {"a", "c"}


def test_a_model_without_moments_is_refused(model, ok, refused):
    ok("fit", "old.csv", "-t", "target", "-f", "a", "-m", "perceptron", "-o", "p.suffice")
    assert "keeps no moments" in refused("drift", "p.suffice", "old.csv")


def test_a_file_without_rows_is_refused(model, refused):
    Path("none.csv").write_text("a,c\n")
    assert "weight 0 is too little" in refused("drift", model, "none.csv")


def test_a_picture_of_no_known_format_is_refused_before_any_work(refused, model):
    assert "a figure is written to .pdf, .png, .svg" in refused(
        "drift", model, "no.csv", "-o", "d.x"
    )
