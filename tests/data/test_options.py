"""What users say about columns, text and places is checked when it is said."""

import pytest

import suffice as sf
from suffice.data.options import Compute
from suffice.errors import InvalidParameterError


@pytest.mark.parametrize("role", ["features", "ignore", "ids", "categorical"])
@pytest.mark.parametrize("names", ["age", 3, [1, 2]])
def test_columns_are_lists_of_names(role, names):
    with pytest.raises(InvalidParameterError, match=f"{role} must be a list of column names"):
        sf.Columns(**{role: names})


def test_a_list_of_names_or_a_schema_are_features():
    schema = sf.summarize("penguins").schema
    assert sf.Columns.of(None) == sf.Columns()
    assert sf.Columns.of(["a", "b"]).feature_names == ("a", "b")
    assert sf.Columns.of(schema).schema is schema
    assert sf.Columns.of(schema).feature_names == schema.names


def test_lists_become_tuples_so_that_columns_stay_as_they_are():
    names = ["a"]
    columns = sf.Columns(ignore=names)
    names.append("b")
    assert columns.ignore == ("a",)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"delimiter": "::"}, "delimiter must be one character"),
        ({"decimal": ";"}, "decimal must be '.' or ','"),
        ({"thousands": "_"}, "thousands must be"),
        ({"decimal": ",", "thousands": ","}, "decimal and thousands are both ','"),
        ({"encoding": "klingon"}, "there is no encoding 'klingon'"),
        ({"encoding": "base64"}, "there is no encoding 'base64'"),
        ({"encoding": "rot13"}, "there is no encoding 'rot13'"),
        ({"encoding": "\0"}, "there is no encoding"),
        ({"na_values": "NA"}, "na_values must be a list of texts"),
        ({"skip_rows": -1}, "skip_rows must be a number of lines"),
    ],
)
def test_a_text_format_that_cannot_be_is_refused(options, told):
    with pytest.raises(InvalidParameterError, match=told):
        sf.TextFormat(**options)


def test_on_names_a_cluster_a_device_both_or_the_place_of_a_table():
    assert Compute.of(None) == Compute()
    assert Compute.of("tcp://host:8786").client == "tcp://host:8786"
    assert Compute.of("cuda:1").device == "cuda:1"
    assert Compute.of(("tcp://host:8786", "cuda")) == Compute("tcp://host:8786", "cuda")
    assert Compute.of("database").database == "database"
    assert Compute.of("local").database == "local"


@pytest.mark.parametrize("words", [{"columns": ["a"]}, {"table": "rows"}])
def test_names_are_refused_where_rows_come_with_an_array_of_labels(words):
    (name,) = words
    with pytest.raises(InvalidParameterError, match=f"{name} names"):
        sf.summarize([[0.0], [1.0], [2.0]], ["a", "b", "a"], **words)
