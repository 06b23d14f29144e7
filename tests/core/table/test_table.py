"""The labelled table and its schema, by examples."""

import numpy as np

from suffice.core.table import Table
from suffice.core.table.indicator_encoding import Encoding
from suffice.core.table.labels import codes_of, has_label
from suffice.core.table.matrix import is_complete
from suffice.core.table.schema import Category, Number, Schema


def test_a_table_knows_its_classes_and_some_of_its_rows():
    table = Table.of([[1.0], [2.0], [4.0]], ["b", "a", "b"])
    assert table.classes.tolist() == ["a", "b"]
    assert table.codes.tolist() == [1, 0, 1]
    assert table.n_rows == 3
    assert table.take([0, 2]).labels.tolist() == ["b", "b"]


def test_labels_are_looked_up_and_those_that_lack_are_told():
    assert has_label(["a", None, "b"]).tolist() == [True, False, True]
    assert codes_of(["b", "a", "c"], ["a", "b"], strict=False).tolist() == [1, 0, -1]
    assert is_complete(np.array([[1.0, 2.0], [np.nan, 3.0]])).tolist() == [True, False]


def test_numbers_come_first_then_an_indicator_for_each_level():
    schema = Schema((Category("sex", ("f", "m")), Number("age")))
    assert schema.feature_names == ("age", "sex=f", "sex=m")


def test_the_most_frequent_level_has_no_feature_and_an_unknown_one_leaves_it_open():
    schema = Schema((Number("age"), Category("sex", ("f", "m"))))
    code = Encoding.of(schema, np.array([3.0, 1.0]))
    assert code.feature_names == ("age", "sex=m")
    assert code.schema.categories[0].level_names[code.reference[0]] == "f"
    rows = code.rows(np.array([[30.0], [40.0]]), np.array([[1], [-1]]))
    np.testing.assert_array_equal(rows, [[30.0, 1.0], [40.0, np.nan]])
