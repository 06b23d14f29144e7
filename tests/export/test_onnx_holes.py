"""Graphs of mixed tables, of rows with holes and of averages answer like the models."""

from dataclasses import replace

import numpy as np
import onnxruntime
import pytest
from sklearn.base import clone
from tests.export.mixed import INTEGRATING, MIXED, NUMBERS, scored, table, with_holes
from tests.export.models import fitted, rows

import suffice as sf
from suffice.core.model.averaged import ForeignModel, TemperedModel
from suffice.errors import InvalidParameterError
from suffice.export.onnx import to_onnx
from suffice.export.sql import to_sql


def answers(model, frame):
    """Return labels and numbers of a graph for a frame, or an array."""
    session = onnxruntime.InferenceSession(
        to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"]
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
        costs = replace(model.costs, reject=None)
        model = clone(model).set_params(costs=costs).fit(*rows(0, 3, 3))
    agrees(model, with_holes(X))


@pytest.mark.slow
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
    assert any(share.view.lifted for share in model.model_.model.shares)
    agrees(model, np.exp(X))
    agrees(model, with_holes(np.exp(X)))


@pytest.mark.parametrize(
    ("labels", "empty"),
    [(["a", "b", "c"], ""), ([1, 2, 3], -(2**63)), ([1.0, 2.0, 3.0], np.nan)],
)
def test_a_row_without_posteriors_has_an_empty_label(labels, empty):
    X, codes = rows(1, 3, 2)
    model = sf.QDA().fit(X, np.array(labels)[codes])
    far = X[:5].copy()
    far[1, 0], far[2, 1], far[3] = 1e308, np.inf, np.nan
    label, posterior = answers(model, far)
    assert np.isnan(posterior).all(1).tolist() == [False, True, True, False, False]
    np.testing.assert_array_equal(label[1:3], [empty] * 2)
    assert label[[0, 3, 4]].tolist() == model.predict(far[[0, 3, 4]]).tolist()


def test_a_column_that_has_the_name_of_an_output_is_named():
    frame, y = table()
    model = sf.LDA().fit(frame.rename(columns={NUMBERS[0]: "label"}), y)
    with pytest.raises(InvalidParameterError, match="'label' has the name of an output"):
        to_onnx(model)
    nameless = sf.LDA().fit(frame.rename(columns={NUMBERS[0]: ""}), y)
    with pytest.raises(InvalidParameterError, match="column '' has the name"):
        to_onnx(nameless)


def test_a_tree_of_categories_is_refused_by_name():
    model = sf.GaussianClassifier(covariance="tree").fit(*table(gaps=False))
    for export in (lambda: to_onnx(model), lambda: to_sql(model, "rows")):
        with pytest.raises(InvalidParameterError, match="a tree of categories"):
            export()


def test_a_member_that_is_not_ours_is_refused_by_name():
    X, y = table(n=150, gaps=False)
    known = sf.AutoGaussian().fit(X, y).model_
    outsider = TemperedModel(ForeignModel(None, 3), 1.0, 0.1)
    share = replace(known.model.shares[0], model=outsider)
    changed = replace(known, model=replace(known.model, shares=(share,)))
    with pytest.raises(InvalidParameterError, match=r"not exported \(NoneType\)"):
        to_onnx(changed)


@pytest.mark.parametrize("holes", [False, True])
def test_trees_and_logistic_regression_are_exported(holes):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 4))
    y = ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.3)).astype(int) + (X[:, 2] > 0.8)
    model = sf.AutoClassifier().fit(X, y)
    kinds = {type(getattr(m.model, "inner", None)).__name__ for m in model.members_}
    assert "Trees" in kinds
    new = rng.uniform(size=(200, 4))
    if holes:
        new[::7, 1] = np.nan
        new[3] = np.nan
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    _, p = session.run(None, {"X": new})
    np.testing.assert_allclose(p, model.predict_proba(new), atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_boosted_trees_are_exported_in_double_precision(n_classes):
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(2000, 4)) + 2.0**30
    radius = np.square(X[:, :2] - 2.0**30 - 0.5).sum(1)
    y = np.digitize(radius, [0.1, 0.2][: n_classes - 1])
    model = sf.AutoClassifier(kernel_features=False).fit(X, y)
    kinds = {type(getattr(m.model, "inner", None)).__name__ for m in model.members_}
    assert "BoostedTrees" in kinds
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    _, p = session.run(None, {"X": X[:200]})
    np.testing.assert_allclose(p, model.predict_proba(X[:200]), atol=1e-5)
    assert (p.argmax(1) == y[:200]).mean() > 0.95
