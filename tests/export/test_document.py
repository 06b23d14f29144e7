"""The JSON of ``suffice export`` is complete: a reader without any of our code scores from it."""

# ruff: noqa: B905

import json
import math
from pathlib import Path

import numpy as np
import pytest
from tests.export.mixed import INTEGRATING, MIXED, scored, table, with_holes
from tests.export.models import MODELS, fitted

import suffice as sf
from suffice import datasets
from suffice.core.model.averaged import TemperedModel
from suffice.core.model.views import (
    Plain,
)
from suffice.core.table import Table
from suffice.core.text.tables import json_value
from suffice.export.document import document_text, to_document, view_document
from suffice.selection.search.boosting import fit_boosting
from suffice.selection.search.candidates import LearnerCandidate, Member
from suffice.selection.search.view_fitting import fit_kernel_features, fit_pieces, fit_softened

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "model.schema.json").read_text())


def curve(e, u, knee):
    """Return ((1 + u)^e − 1) / e, a straight line beyond the knee where e < 0."""
    line = 0.0
    if e < 0 and u > knee:
        line, u = math.exp((e - 1) * math.log1p(knee)) * (u - knee), knee
    return line + (math.log1p(u) if e == 0 else math.expm1(e * math.log1p(u)) / e)


def transformed(power, x):
    far = {"low": -math.inf, "high": math.inf}  # where a bound is null
    names = ("exponents", "centre", "scale", "low", "high")
    known = ([far.get(n) if v is None else v for v in power[n]] for n in names)
    rows = zip(x, *known)
    return [
        v
        if e == 1 or v is None
        else c + s * curve(e, (v - c) / s, (high - c) / s)
        if v >= c
        else c - s * curve(2 - e, (c - v) / s, (c - low) / s)
        for v, e, c, s, low, high in rows
    ]


def encoded(encoding, row):
    """Return the features of a row of columns; None is not observed."""
    numbers, marks, levels = [], [], []
    categories = [c for c in encoding["columns"] if c["kind"] == "category"]
    for column in encoding["columns"]:
        value = row.get(column["name"])
        empty = value is None or value != value
        if column["kind"] == "number":
            filled = column["fill"] is not None
            numbers.append(column["fill"] if empty else value)
            marks += [float(empty)] if filled else []
        elif column["kind"] == "category":
            names, reference = (
                column["levels"],
                encoding["reference"][categories.index(column)],
            )
            n = len(names) + column["missing"] + column["other"]
            unknown = n - 1 if column["other"] else None
            code = names.index(str(value)) if str(value) in names else unknown
            code = (len(names) if column["missing"] else None) if empty else code
            levels += [
                None if code is None else float(code == at)
                for at in range(n)
                if at != reference
            ]
    return [*numbers, *marks, *levels]


def level_terms(formula, k, x):
    total, at = 0.0, len(formula["origin"])
    for term in formula["levels"]:
        own = x[at : at + len(term[k]) - 1]
        at += len(own)
        if None not in own:
            total += term[k][own.index(1.0) + 1 if 1.0 in own else 0]
    return total


def marginal(formula, part, m, c, score):
    """Return −½ Δ² over observed features, ½ log|P_mm| and the number of holes."""
    d = len(c)
    if part["kind"] == "linear":
        P, pull = np.array(formula["precision"]), np.array(part["weights"][m])
    else:
        W = (
            np.array(part["whitening"])
            if part["kind"] == "whitened"
            else np.diag(1 / np.array(part["scale"]))
        )
        P = W.T @ W
        pull = P @ part["means"][m]
    holes = [j for j in range(d) if c[j] is None]
    g = (P @ [v or 0.0 for v in c] - pull)[holes]
    P = P[np.ix_(holes, holes)]
    return score + 0.5 * g @ np.linalg.solve(P, g), 0.5 * np.linalg.slogdet(P)[1], len(holes)


def scores(formula, row):
    """Return the score of each class; None: ruled out."""
    if formula["prior_if_empty"] and all(v is None for v in row):
        return [
            None if v is None else formula["temperature"] * v for v in formula["log_priors"]
        ]
    x = row if formula["power"] is None else transformed(formula["power"], row)
    c = [None if v is None else v - o for v, o in zip(x, formula["origin"])]
    at = [v or 0.0 for v in c]
    found = {}
    for part in formula["parts"]:
        for m, k in enumerate(part["classes"]):
            constant = part["constants"][m]
            if part["kind"] == "linear":
                score = sum(w * v for w, v in zip(part["weights"][m], at))
            else:
                z = [v - mu for v, mu in zip(at, part["means"][m])]
                if part["kind"] == "whitened":
                    z = [sum(w * v for w, v in zip(row, z)) for row in part["whitening"]]
                else:
                    z = [v / s for v, s in zip(z, part["scale"])]
                score = -0.5 * sum(v * v for v in z)
            log_det, holes = 0.0, 0
            if None in c:
                score, log_det, holes = marginal(formula, part, m, c, score)
            if formula["tail"] is not None:
                constant, p, s = (
                    formula["tail"][n][k] for n in ("constants", "powers", "shares")
                )
                constant += math.lgamma(p - holes / 2) - math.lgamma(p)
                constant += holes / 2 * math.log(math.pi / s)
                score = -(p - holes / 2) * math.log1p(s * -2 * score)
            levels = level_terms(formula, k, row)
            found[k] = None if constant is None else constant + score - log_det + levels
    return of_classes(formula, [found[k] for k in range(len(found))])


def of_classes(formula, found):
    if formula["class_of"] is None:
        return found
    own = [[] for _ in formula["log_priors"]]
    for r, k in enumerate(formula["class_of"]):
        own[k] += [] if found[r] is None else [found[r]]
    return [
        max(a) + math.log(sum(math.exp(v - max(a)) for v in a)) if a else None for a in own
    ]


def softmax(a, temperature):
    top = max(v for v in a if v is not None)
    e = [0.0 if v is None else math.exp((v - top) / temperature) for v in a]
    return [v / sum(e) for v in e]


def seen(view, x):
    if view["kind"] == "plain":
        return x
    if view["kind"] == "power":
        return transformed(view["power"], x)
    if view["kind"] == "piecewise":
        pieces = zip(view["features"], view["left"], view["length"])
        return [min(max((x[j] - left) / length, 0.0), 1.0) for j, left, length in pieces]
    z = [(v - c) / s for v, c, s in zip(seen(view["below"], x), view["centre"], view["scale"])]
    if view["kernel"] == "Laplace":
        apart = [
            sum(abs(v - w) for v, w in zip(z, row)) / view["length"]
            for row in view["landmarks"]
        ]
    else:
        squares = (sum((v - w) ** 2 for v, w in zip(z, row)) for row in view["landmarks"])
        apart = [each / (2 * view["length"] ** 2) for each in squares]
    return [*z, *(math.exp(-each) for each in apart)]


def reached(trees, x):
    nodes = []
    for node in trees["roots"]:
        while trees["left"][node] != node:
            is_low = x[trees["feature"][node]] <= trees["threshold"][node]
            node = trees["left" if is_low else "right"][node]
        nodes.append(node)
    return nodes


def leaves(trees, x):
    found = [trees["shares"][node] for node in reached(trees, x)]
    return [sum(column) / len(found) for column in zip(*found)]


def boosted(trees, x):
    a = list(trees["baseline"])
    for node, k in zip(reached(trees, x), trees["class_of_tree"], strict=True):
        a[k] += trees["value"][node]
    return softmax(a, 1.0)


def posterior(document, x):
    average = document["average"]
    if average is None:
        return softmax(scores(document["formula"], x), document["formula"]["temperature"])
    x = [x[j] for j in average["features"]]
    mixture = [0.0 for _ in average["frequencies"]]
    for share in average["shares"]:
        formula = share["formula"]
        if "boosted_trees" in share:
            own = boosted(share["boosted_trees"], x)
        elif formula is None:
            own = leaves(share["trees"], x)
        else:
            own = softmax(scores(formula, seen(share["view"], x)), formula["temperature"])
        if "tempered" in share:
            doubt = share["tempered"]["doubt"]
            logs = [math.log((1 - doubt) * v + doubt / len(own)) for v in own]
            own = softmax(logs, share["tempered"]["temperature"])
        mixture = [m + share["weight"] * p for m, p in zip(mixture, own)]
    powers = [m ** (1 / average["temperature"]) for m in mixture]
    doubt = average["doubt"]
    return [
        doubt * frequency + (1 - doubt) * power / sum(powers)
        for frequency, power in zip(average["frequencies"], powers)
    ]


def label(document, x):
    decision = document["decision"]
    if not document["has_posterior"]:
        a = scores(document["formula"], x)
        return document["classes"][a.index(max(a))]
    p = posterior(document, x)
    costs = decision["costs"] or [
        [float(i != j) for j in range(len(p))] for i in range(len(p))
    ]
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
        assert schema.get("additionalProperties", True) or set(value) <= set(known), (
            at,
            value,
        )
        for name in known.keys() & value.keys():
            check(value[name], known[name], f"{at}.{name}")
    if isinstance(value, list) and "items" in schema:
        for item in value:
            check(item, schema["items"], f"{at}[]")
    return None


def agrees(model, rows):
    document = json.loads(document_text(to_document(model)), parse_constant=pytest.fail)
    check(document, SCHEMA)
    known, encoding = model.model_, document["encoding"]
    if encoding is None:
        given = [[None if v != v else v for v in row] for row in rows.tolist()]
    else:
        given = [encoded(encoding, row) for row in rows.to_dict("records")]
    answers = [label(document, row) for row in given]
    wanted = [None if w != w else w for w in known.predict(rows).tolist()]
    assert sum(a != w for a, w in zip(answers, wanted, strict=True)) <= 1  # an exact tie
    if document["has_posterior"]:
        found = [posterior(document, row) for row in given]
        np.testing.assert_allclose(found, known.posterior(rows), atol=1e-9)


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("gaps", [True, False])
def test_a_model_of_a_mixed_table_is_scored_from_its_document(name, gaps):
    agrees(MIXED[name].fit(*table(gaps=gaps)), scored().iloc[:40])


@pytest.mark.parametrize("name", INTEGRATING)
def test_holes_are_integrated_out_from_the_document(name):
    model, rows = fitted(name)
    agrees(model, with_holes(rows)[:20])


def test_an_average_of_a_mixed_table_is_scored_from_its_document():
    agrees(sf.AutoGaussian().fit(*table(n=150)), table(3, gaps=False)[0].iloc[:30])


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
    boxes = (X[:, 0] > np.median(X[:, 0])) ^ (X[:, 1] > np.median(X[:, 1]))
    every = sf.AutoClassifier().fit(X, boxes)
    assert any(share["formula"] is None for share in to_document(every)["average"]["shares"])
    agrees(every, X[::10])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_boosted_trees_are_scored_from_their_document(n_classes):
    X, y = datasets.load("iris").arrays()
    codes = np.unique(y, return_inverse=True)[1] % n_classes
    trees = fit_boosting(Table.of(X, codes), n_rounds=4, n_repeats=2, seed=0)
    model = sf.AutoGaussian(kernel_features=False).fit(X, codes)
    candidate = LearnerCandidate("boosted trees", None, 4, 1.1, 0.0, 0.0, 0.0, 1.0)
    model.members_ = (Member(candidate, TemperedModel(trees, 1.1, 0.01)),)
    agrees(model, X[::10])


def test_costs_by_pairs_of_labels_can_be_written():
    X, y = datasets.load("iris").arrays()
    costs = {("setosa", "virginica"): 9.0}
    agrees(sf.LDA(costs=sf.Costs(costs, reject=0.2)).fit(X, y), X[::10])


@pytest.mark.parametrize("kind", ["pieces", "softened", "kernel", "Laplace kernel"])
def test_every_view_of_an_average_is_in_the_document(kind):
    X, _ = datasets.load("iris").arrays()
    made = {
        "pieces": lambda: fit_pieces(X, 12),
        "softened": lambda: fit_softened(Plain(), X, 0.1),
        "kernel": lambda: fit_kernel_features(
            Plain(), X, width=0.4, n_landmarks=5, seed=0
        ).unmixed(),
        "Laplace kernel": lambda: fit_kernel_features(
            Plain(), X, width=0.4, n_landmarks=5, seed=0, kernel="Laplace"
        ).unmixed(),
    }
    view = made[kind]()
    written = json.loads(json.dumps(json_value(view_document(view))))
    check(written, SCHEMA["$defs"]["view"])
    found = [seen(written, row) for row in X[::10].tolist()]
    np.testing.assert_allclose(found, view.apply(X[::10]), atol=1e-12)
