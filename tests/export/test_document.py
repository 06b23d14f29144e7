"""The JSON of ``suffice export`` is complete: a reader without any of our code scores from it."""

# ruff: noqa: B905

import json
import math
from pathlib import Path

import numpy as np
import pytest
from tests.export.models import MODELS, fitted

import suffice as sf
from suffice import datasets
from suffice.export.document import document_of, document_text

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "model.schema.json").read_text())


def curve(e, u, knee):
    """Return ((1 + u)^e − 1) / e, a straight line beyond the knee where e < 0."""
    line = 0.0
    if e < 0 and u > knee:
        line, u = math.exp((e - 1) * math.log1p(knee)) * (u - knee), knee
    return line + (math.log1p(u) if e == 0 else math.expm1(e * math.log1p(u)) / e)


def transformed(power, x):
    rows = zip(x, *(power[name] for name in ("exponents", "centre", "scale", "low", "high")))
    return [
        v if e == 1
        else c + s * curve(e, (v - c) / s, (high - c) / s) if v >= c
        else c - s * curve(2 - e, (c - v) / s, (c - low) / s)
        for v, e, c, s, low, high in rows
    ]  # fmt: skip


def scores(formula, x):
    """Return the score of each class; None: ruled out."""
    x = x if formula["power"] is None else transformed(formula["power"], x)
    c = [v - o for v, o in zip(x, formula["origin"])]
    found = {}
    for part in formula["parts"]:
        for m, k in enumerate(part["classes"]):
            constant = part["constants"][m]
            if part["kind"] == "linear":
                score = sum(w * v for w, v in zip(part["weights"][m], c))
            else:
                z = [v - mu for v, mu in zip(c, part["means"][m])]
                if part["kind"] == "whitened":
                    z = [sum(w * v for w, v in zip(row, z)) for row in part["whitening"]]
                else:
                    z = [v / s for v, s in zip(z, part["scale"])]
                score = -0.5 * sum(v * v for v in z)
            if formula["tail"] is not None:
                constant, p, s = (formula["tail"][n][k] for n in ("constants", "powers", "shares"))
                score = -p * math.log1p(s * -2 * score)
            found[k] = None if constant is None else constant + score
    return [found[k] for k in range(len(found))]


def softmax(a, temperature):
    top = max(v for v in a if v is not None)
    e = [0.0 if v is None else math.exp((v - top) / temperature) for v in a]
    return [v / sum(e) for v in e]


def seen(view, x):
    if view["kind"] == "plain":
        return x
    if view["kind"] == "power":
        return transformed(view["power"], x)
    z = [(v - c) / s for v, c, s in zip(seen(view["below"], x), view["centre"], view["scale"])]
    phase = [sum(v * w for v, w in zip(z, column)) for column in zip(*view["frequencies"])]
    return [*z, *map(math.cos, phase), *map(math.sin, phase)]


def posterior(document, x):
    average = document["average"]
    if average is None:
        return softmax(scores(document["formula"], x), document["formula"]["temperature"])
    x = [x[j] for j in average["features"]]
    p = [average["doubt"] * f for f in average["frequencies"]]
    for share in average["shares"]:
        formula = share["formula"]
        own = softmax(scores(formula, seen(share["view"], x)), formula["temperature"])
        p = [a + (1 - average["doubt"]) * share["weight"] * b for a, b in zip(p, own)]
    return p


def label(document, x):
    decision = document["decision"]
    if not document["has_posterior"]:
        a = scores(document["formula"], x)
        return document["classes"][a.index(max(a))]
    p = posterior(document, x)
    costs = decision["costs"] or [[float(i != j) for j in range(len(p))] for i in range(len(p))]
    costs = costs if decision["reject"] is None else [*costs, decision["reject"]]
    risk = [sum(c * q for c, q in zip(row, p)) for row in costs]
    return decision["actions"][risk.index(min(risk))]


def check(value, schema, at="document"):  # noqa: C901
    """Raise unless a value is as the schema says: the few words of JSON Schema that we use."""
    if "$ref" in schema:
        return check(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], at)
    if "anyOf" in schema:
        failures = []
        for each in schema["anyOf"]:
            try:
                return check(value, each, at)
            except AssertionError as error:
                failures.append(str(error))
        raise AssertionError(failures)
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    kinds |= {"number": (int, float), "integer": int}
    if "type" in schema:
        names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        wanted = tuple(kinds[name] for name in names)
        assert any(isinstance(value, w) for w in wanted), (at, value, names)
    if "const" in schema:
        assert value == schema["const"], (at, value)
    if isinstance(value, dict):
        lacking = set(schema.get("required", ())) - set(value)
        assert not lacking, (at, lacking)
        known = schema.get("properties", {})
        assert schema.get("additionalProperties", True) or set(value) <= set(known), (at, value)
        for name in known.keys() & value.keys():
            check(value[name], known[name], f"{at}.{name}")
    if isinstance(value, list) and "items" in schema:
        for item in value:
            check(item, schema["items"], f"{at}[]")
    return None


def agrees(model, rows):
    document = json.loads(document_text(document_of(model)), parse_constant=pytest.fail)
    check(document, SCHEMA)
    known = model.classifier_
    answers = [label(document, row) for row in rows.tolist()]
    wanted = [None if w != w else w for w in known.predict(rows).tolist()]
    assert sum(a != w for a, w in zip(answers, wanted, strict=True)) <= 1  # an exact tie
    if document["has_posterior"]:
        found = [posterior(document, row) for row in rows.tolist()]
        np.testing.assert_allclose(found, known.posterior(rows), atol=1e-9)


@pytest.mark.parametrize("name", [n for n in MODELS if "many features" not in n])
def test_every_model_is_scored_from_its_document(name):
    model, rows = fitted(name)
    agrees(model, rows[:20])


def test_a_transform_and_a_temperature_are_in_the_document():
    X, y = datasets.load("breast_cancer").arrays()
    model = sf.QDA(power="yeo-johnson", temperature=3.0, shrinkage=0.1).fit(X, y)
    agrees(model, X[::6])


def test_an_average_of_models_is_scored_from_its_document():
    X, y = datasets.load("iris").arrays()
    agrees(sf.AutoGaussian().fit(X, y), X[::10])


def test_costs_by_pairs_of_labels_can_be_written():
    X, y = datasets.load("iris").arrays()
    costs = {("setosa", "virginica"): 9.0}
    agrees(sf.LDA(costs=costs, reject_cost=0.2).fit(X, y), X[::10])
