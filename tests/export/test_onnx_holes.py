"""Graphs of mixed tables, of rows with holes and of averages answer like the models."""

import numpy as np
import onnxruntime
import pytest
from tests.export.mixed import MIXED, NUMBERS, scored, table, with_holes
from tests.export.models import fitted, rows
from tests.export.test_sql_holes import INTEGRATING

import suffice as sf


def answers(model, frame):
    """Return labels and numbers of a graph for a frame, or an array."""
    session = onnxruntime.InferenceSession(
        model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"]
    )
    if isinstance(frame, np.ndarray):
        return session.run(None, {"X": frame})
    given = {}
    for each in session.get_inputs():
        column = frame[each.name]
        if each.type == "tensor(string)":
            texts = ["" if value is None or value != value else str(value) for value in column]
            given[each.name] = np.array(texts, object)[:, None]
        else:
            given[each.name] = column.to_numpy(np.float64)[:, None]
    return session.run(None, given)


def agrees(model, rows, atol=1e-9):
    label, numbers = answers(model, rows)
    np.testing.assert_allclose(numbers, model.predict_proba(rows), rtol=0, atol=atol)
    wanted = ["" if value is None else value for value in model.predict(rows).tolist()]
    assert label.tolist() == wanted


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("gaps", [True, False])
def test_a_graph_of_a_mixed_table_answers_like_the_model(name, gaps):
    agrees(MIXED[name].fit(*table(gaps=gaps)), scored())


@pytest.mark.parametrize("name", INTEGRATING)
def test_holes_are_integrated_out(name):
    model, X = fitted(name)
    if "reject" in name:
        model.set_params(reject_cost=None).fit(*rows(0, 3, 3))
    agrees(model, with_holes(X))


@pytest.mark.parametrize("gaps", [True, False])
def test_an_average_of_a_mixed_table_is_exported_whole(gaps):
    model = sf.AutoGaussian().fit(*table(n=150, gaps=gaps))
    agrees(model, scored())
    agrees(model, table(3)[0])


def test_an_average_sees_rows_in_every_view():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (np.abs(X[:, 0]) + X[:, 1] ** 2 > 1.2).astype(int)
    model = sf.AutoGaussian().fit(np.exp(X), y)
    assert any(share.view.lifted for share in model.classifier_.model.shares)
    agrees(model, np.exp(X))
    agrees(model, with_holes(np.exp(X)))
