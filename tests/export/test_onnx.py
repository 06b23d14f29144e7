"""ONNX graphs answer like the models they were written from."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
from tests.export.models import MODELS, fitted, rows

import suffice as sf
from suffice.errors import InvalidParameterError
from suffice.export.onnx import to_onnx


def run(model, X):
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    label, numbers = session.run(["label", session.get_outputs()[1].name], {"X": X})
    return label, numbers


@pytest.mark.parametrize("name", MODELS)
def test_a_graph_answers_like_the_model(name):
    model, X = fitted(name)
    label, numbers = run(to_onnx(model), X)
    np.testing.assert_array_equal(label, model.predict(X))
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(numbers, model.predict_proba(X), rtol=0, atol=1e-10)
    else:
        expected = model.decision_function(X)
        expected = (
            np.column_stack([0 * expected, expected]) if expected.ndim == 1 else expected
        )
        np.testing.assert_allclose(numbers, expected, rtol=1e-9, atol=1e-10)


def test_quadratic_graphs_take_any_number_of_features():
    X, y = rows(1, 3, 80)
    model = sf.QDA(shrinkage=0.1).fit(X, y)
    np.testing.assert_allclose(run(to_onnx(model), X)[1], model.predict_proba(X), atol=1e-10)


@pytest.mark.parametrize("exponents", [[0.0, 2.0], [-0.7, 2.6], [1e-7, 2 - 1e-7], [1.0, 0.4]])
def test_every_branch_of_a_transform_is_written(exponents):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), np.arange(90) % 3
    X[:, 0] += y
    transform = sf.PowerTransform(exponents, [0.1, -0.2], [0.7, 1.3], [-1.0, -1.1], [1.2, 1.3])
    model = sf.QDA(power=transform).fit(X, y)
    far = 5 * X
    np.testing.assert_allclose(
        run(to_onnx(model), far)[1], model.predict_proba(far), atol=1e-10
    )


@pytest.mark.parametrize(
    ("labels", "refused"), [(["a", "b"], ""), ([3, 7], np.nan), ([True, False], "")]
)
def test_labels_keep_their_kind_and_refused_rows_are_marked(labels, refused):
    X, codes = rows(2, 2, 2)
    y = np.array(labels)[codes]
    plain = run(to_onnx(sf.LDA().fit(X, y)), X)[0]
    assert plain.tolist() == sf.LDA().fit(X, y).predict(X).tolist()
    model = sf.LDA(costs=sf.Costs(reject=0.3)).fit(X, y)
    label = run(to_onnx(model), X)[0]
    declined = np.array([x is None or x != x for x in model.predict(X).tolist()])
    assert declined.any()
    assert all(x == refused or (x != x) for x in label[declined].tolist())


@pytest.mark.parametrize("reject_label", [None, "unsure"])
def test_false_and_zero_are_labels_and_not_refusals(reject_label):
    X, codes = rows(2, 2, 2)
    model = sf.LDA(costs=sf.Costs(reject=0.3, reject_label=reject_label)).fit(
        X, codes.astype(bool)
    )
    expected = ["" if x is None else str(x) for x in model.predict(X).tolist()]
    assert run(to_onnx(model), X)[0].tolist() == expected
    assert {"False", "True"} < set(expected)


def test_labels_that_onnx_has_no_number_for_are_refused():
    X, codes = rows(2, 2, 2)
    model = sf.LDA().fit(X, np.array([1, 2**64 - 1], np.uint64)[codes])
    with pytest.raises(InvalidParameterError, match="no integer as large as the label 1844"):
        to_onnx(model)


def test_a_file_is_written_and_names_classes_and_features(tmp_path):
    import pandas as pd

    X, y = rows(3, 2, 2)
    model = sf.LDA().fit(pd.DataFrame(X, columns=["größe", "b"]), y)
    path = tmp_path / "model.onnx"
    to_onnx(model, path)
    notes = {prop.key: json.loads(prop.value) for prop in onnx.load(path).metadata_props}
    assert notes == {"classes": [0, 1], "features": ["größe", "b"]}


def test_without_the_package_the_cure_is_named(monkeypatch):
    model = sf.LDA().fit(*rows(4, 2, 2))
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(InvalidParameterError, match=r"pip install 'suffice\[onnx\]'"):
        to_onnx(model)
