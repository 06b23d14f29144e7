"""Targets and ids are found where they are obvious, and only there."""

import gzip

import polars as pl
import pytest

from suffice import Columns
from suffice.data.columns.guessing import guess_target, id_columns
from suffice.data.columns.roles import roles_for_learning, roles_for_predicting
from suffice.data.opening import open_source
from suffice.data.summarize import summarize
from suffice.errors import FeatureMismatchError, InvalidInputError, SufficeWarning

N = [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]


@pytest.mark.parametrize(
    ("columns", "target", "why"),
    [
        ({"x": N, "Class": [1, 2] * 3}, "Class", "by its name"),
        ({"x": N, "note": ["u", "v"] * 3, "y": [0, 1] * 3}, "y", "by its name"),
        (
            {"colour": ["u", "v"] * 3, "x": N},
            "colour",
            "the only column with few different values",
        ),
        ({"x": N, "kind": [1, 2] * 3}, "kind", "the only column with few different values"),
        (
            {"x": N, "good": [True, False] * 3},
            "good",
            "the only column with few different values",
        ),
    ],
)
def test_an_obvious_target_is_found(columns, target, why):
    name, reason = guess_target(pl.DataFrame(columns), "data")
    assert name == target
    assert reason.startswith(why)


@pytest.mark.parametrize(
    "columns",
    [
        {"x": N, "z": N},
        {"x": N, "count": [1, 2, 3, 4, 5, 6]},
        {"class": [1, 2] * 3, "x": N, "label": [1, 2] * 3},
        {"u": ["p", "q"] * 3, "v": ["r", "s"] * 3, "x": N},
        {"survived": [0, 1] * 3, "x": N, "embarked": ["r", "s"] * 3},
    ],
)
def test_a_target_that_is_not_obvious_is_asked_for(columns):
    with pytest.raises(InvalidInputError, match="which column holds the labels"):
        guess_target(pl.DataFrame(columns), "data")


def test_a_guess_is_said():
    with pytest.warns(SufficeWarning, match="taking 'kind' as the target, the only column"):
        roles_for_learning(open_source(pl.DataFrame({"kind": ["a", "b"] * 3, "x": N})))


def test_a_built_in_data_set_knows_its_target():
    assert roles_for_learning(open_source("digits")).target == "digit"


@pytest.mark.parametrize(
    ("name", "values", "is_id"),
    [
        ("id", [1, 2, 3], True),
        ("customer_id", [7, 8, 9], True),
        ("patientID", [7, 8, 9], True),
        ("", [0, 1, 2], True),
        ("Unnamed: 0", [0, 1, 2], True),
        ("uuid", ["x", "y", "z"], True),
        ("id", [1, 1, 2], False),
        ("width", [1, 2, 3], False),
        ("id", [0.5, 1.5, 2.5], False),
        ("acid", [1, 2, 3], False),
        ("covid", [1, 2, 3], False),
        ("idea", [1, 2, 3], False),
        ("name", ["x", "y", "z"], False),
        ("name", [f"n{i}" for i in range(30)], True),
    ],
)
def test_ids_are_known_by_name_and_by_having_no_value_twice(name, values, is_id):
    assert id_columns(pl.DataFrame({name: values}), set()) == ([name] if is_id else [])


def test_predicting_takes_features_by_name_and_keeps_ids():
    source = open_source(pl.DataFrame({"b": N, "id": range(6), "a": N, "extra": N}))
    roles = roles_for_predicting(source, ["a", "b"], 2)
    assert (roles.features, roles.kept) == (("a", "b"), ("id",))


def test_a_lacking_column_is_named_with_the_nearest():
    source = open_source(pl.DataFrame({"petal_len": N, "b": N}))
    with pytest.raises(
        FeatureMismatchError, match=r"lacks the column 'petal_length'.*'petal_len'"
    ):
        roles_for_predicting(source, ["petal_length", "b"], 2)


def test_lacking_columns_that_differ_by_case_are_renamed():
    source = open_source(pl.DataFrame({"Petal_Length": N, "Petal_Width": N, "b": N}))
    renamed = "rename 'Petal_Length' to 'petal_length' and 'Petal_Width' to 'petal_width'"
    with pytest.raises(FeatureMismatchError, match=renamed):
        roles_for_predicting(source, ["petal_length", "petal_width"], 2)
    added = "rename 'Petal_Width' to 'petal_width', and add the column 'sepal_width'"
    with pytest.raises(FeatureMismatchError, match=added):
        roles_for_predicting(source, ["petal_width", "sepal_width"], 2)
    with pytest.raises(FeatureMismatchError, match="it has 'Petal_Length'"):
        roles_for_predicting(source, ["sepal_length", "sepal_width"], 2)


def test_a_model_without_names_takes_numeric_columns_in_order():
    source = open_source(pl.DataFrame({"id": range(6), "b": N, "t": ["u"] * 6, "a": N}))
    with pytest.warns(SufficeWarning, match="uses 'b', 'a' in this order"):
        assert roles_for_predicting(source, None, 2).features == ("b", "a")
    with pytest.raises(FeatureMismatchError, match=r"3 numeric columns, but .* has 2"):
        roles_for_predicting(source, None, 3)


@pytest.mark.parametrize("said", [{}, {"ignore": ["t", "x"]}])
def test_a_column_is_a_feature_or_something_else(said):
    source = open_source(pl.DataFrame({"x": N, "z": N, "t": ["u", "v"] * 3}))
    features = ["x", "z"] if "ignore" in said else ["x", "t"]
    with pytest.raises(
        InvalidInputError, match=r"column '[tx]' is named as a feature, and as"
    ):
        roles_for_learning(source, "t", columns=Columns(features=features, **said))


@pytest.mark.parametrize(
    "labels", [range(2 * 10**19, 2 * 10**19 + 3), (2**53, 2**53 + 1, 0.0)]
)
def test_labels_that_floats_cannot_tell_apart_are_refused(tmp_path, labels):
    large = [labels[i % 3] for i in range(30)]
    rows = "".join(f"{i % 7},{label}\n" for i, label in enumerate(large))
    (tmp_path / "rows.csv").write_text(f"x,t\n{rows}")
    with pytest.raises(InvalidInputError, match=r"'t' holds numbers beyond 2⁵³"):
        roles_for_learning(open_source(tmp_path / "rows.csv"), "t")


def test_columns_are_looked_at_once_to_find_the_target(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "suffice.data.columns.guessing._is_id", lambda name, _: seen.append(name)
    )
    wide = pl.DataFrame({"id": [1, 2, 3], "x": [0.5, 1.5, 2.5], "class": ["a", "b", "a"]})
    assert guess_target(wide, "data") == ("class", "by its name")
    assert seen == ["id", "x", "class"]


@pytest.mark.parametrize("role", ["a feature", "the target"])
def test_a_weight_is_nothing_else(role):
    frame = pl.DataFrame({"x": N, "w": [1, 2, 3] * 2, "t": [0, 1] * 3})
    said = {"columns": ["x", "w"]} if role == "a feature" else {"target": "w"}
    with pytest.raises(InvalidInputError, match=f"'w' is named as the weight, and as {role}"):
        summarize(frame, **{"target": "t", "weight": "w", **said})


LONG = "".join(f"k,{'z' * 1000}{i % 7},{i * i % 11},{'ab'[i % 2]}\n" for i in range(1500))
ROWS = "c,long,x,y\n" + LONG + LONG.replace("k,", "m,")


@pytest.mark.filterwarnings("ignore:.*differ only")
@pytest.mark.parametrize("form", ["csv", "csv.gz", "jsonl"])
def test_what_the_first_rows_have_in_common_is_no_constant_of_the_rest(
    form, standard_input, tmp_path, monkeypatch
):
    monkeypatch.setattr("suffice.data.files.contents.BLOCK", 1 << 20)
    path = tmp_path / f"rows.{form}"
    text = ROWS.encode()
    if form == "jsonl":
        text = pl.read_csv(text).write_ndjson().encode()
    path.write_bytes(gzip.compress(text) if form == "csv.gz" else text)
    sources = [path]
    if form != "csv.gz":
        standard_input(text)
        sources.append("-")
    for source in sources:
        m = summarize(source, target="y")
        assert m.schema.names == ("c", "long", "x")
        assert m.counts.tolist() == [1500, 1500]
