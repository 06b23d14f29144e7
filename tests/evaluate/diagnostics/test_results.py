"""What all diagnostics share: a table, a picture, a sentence, and nothing that changes."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

import suffice as sf
from suffice.core.decision.error_intervals import holm
from suffice.core.text.lists import quoted
from suffice.core.text.numbers import p_statement
from suffice.evaluate import diagnostics
from suffice.evaluate.diagnostics.diagnostic import Diagnostic

MAKERS = {
    "BoxM": lambda X, y: diagnostics.box_m(sf.Moments.of(X, y)),
    "ClassSeparation": lambda X, y: diagnostics.class_separation(sf.Moments.of(X, y)),
    "Normality": lambda X, y: diagnostics.normality(X, y),
    "PredictiveCheck": lambda X, y: diagnostics.predictive_check(
        sf.QDA().fit(X, y), X, y, simulations=39
    ),
    "Calibration": lambda X, y: diagnostics.calibration(
        y, sf.LDA().fit(X, y).predict_proba(X)
    ),
}


@pytest.fixture(scope="module", params=MAKERS)
def result(request, iris):
    return MAKERS[request.param](*iris)


def test_every_public_result_is_covered():
    assert {result.__name__ for result in Diagnostic.__subclasses__()} == set(MAKERS)


def test_the_sentence_is_one_line(result):
    assert str(result) == repr(result)
    assert "\n" not in str(result)
    assert 20 < len(str(result)) < 300


def test_rows_are_plain_and_the_frame_holds_the_same(result):
    rows = result.rows()
    frame = result.to_frame()
    assert list(frame.columns) == list(rows[0])
    assert len(frame) == len(rows)
    assert all(list(row) == list(rows[0]) for row in rows)
    assert not any(isinstance(v, np.generic) for row in rows for v in row.values())


def test_it_draws_into_given_axes_and_into_new_ones(result):
    ax = Figure().subplots()
    assert result.plot(ax) is ax
    assert ax.has_data()
    made = result.plot()
    made.figure.canvas.draw()
    pyplot.close(made.figure)


def test_it_cannot_be_changed(result):
    name = dataclasses.fields(result)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(result, name, None)


def test_neither_pandas_nor_matplotlib_is_imported_before_it_is_needed():
    code = (
        "import sys; from suffice import diagnostics; "
        "assert not {'pandas', 'matplotlib', 'sklearn'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_p_values_and_labels_are_written_as_people_do():
    assert [p_statement(p) for p in (0.5, 0.0123, 1e-5, 0.0, np.nan)] == [
        "p = 0.5",
        "p = 0.012",
        "p < 0.0001",
        "p < 0.0001",
        "p unknown",
    ]
    assert quoted(np.arange(6)) == "0, 1, 2, 3 and 2 more"


def test_holm_adjusts_in_steps():
    np.testing.assert_allclose(holm(np.array([0.01, 0.02, 0.9])), [0.03, 0.04, 0.9])
    np.testing.assert_allclose(holm(np.array([0.5, 0.6])), [1.0, 1.0])
    assert np.isnan(holm(np.array([np.nan]))).all()
