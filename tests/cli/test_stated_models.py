"""Stated models and boundaries on the command line."""

import numpy as np

import suffice as sf


def test_a_stated_model_is_shown_without_rows(ok, ok_json, tmp_path):
    model = sf.GaussianClassifier.from_parameters([0.7, 0.3], [[2, 1], [1, 2]], 1.0)
    model.save(tmp_path / "stated.suffice")
    text = ok("show", "stated.suffice")
    assert "stated parameters, no rows" in text
    assert "2 rows" not in text
    document = ok_json("show", "stated.suffice")
    assert document["n_rows"] == 0
    assert document["stated"]


def test_the_json_of_a_boundary_holds_every_number_of_its_equation(ok_json, tmp_path):
    X, y = sf.datasets.load("iris").arrays()
    line = sf.LDA().fit(X, y)
    line.save(tmp_path / "lda.suffice")
    document = ok_json("boundary", "lda.suffice", "versicolor", "virginica")
    plane = line.boundary("versicolor", "virginica")
    np.testing.assert_array_equal(document["w"], plane.w)
    assert document["w_0"] == plane.w_0
    curve = sf.QDA().fit(X, y)
    curve.save(tmp_path / "qda.suffice")
    document = ok_json("boundary", "qda.suffice", "versicolor", "virginica")
    quadric = curve.boundary("versicolor", "virginica")
    np.testing.assert_array_equal(document["A"], quadric.A)
    np.testing.assert_array_equal(document["b"], quadric.b)
    assert document["c"] == quadric.c


def test_rows_of_one_class_are_drawn(ok, refused, tmp_path):
    X, y = sf.datasets.load("iris").arrays()
    sf.LDA().fit(X, y).save(tmp_path / "iris.suffice")
    lines = ok("sample", "iris.suffice", "-n", 5, "--class", "virginica").split()
    assert [line.rsplit(",", 1)[1] for line in lines[1:]] == ["virginica"] * 5
    assert "rose" in refused("sample", "iris.suffice", "--class", "rose")
