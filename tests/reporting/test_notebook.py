import pytest
from sklearn import config_context

import suffice as sf
from suffice.diagnostics import box_m, normality
from suffice.text.tables import html_table


def test_whatever_is_in_a_table_is_escaped():
    assert "<b>" not in html_table(["<b>"], [["<b>", 1.0]])


def test_moments_show_classes_counts_and_means(iris):
    X, y = iris
    html = sf.Moments.of(X, y)._repr_html_()
    assert "mean of petal_length" in html
    assert "<td>setosa</td><td>50</td>" in html


def test_a_fitted_estimator_shows_what_it_learnt_under_its_diagram(iris):
    model = sf.LDA()
    assert "<td>setosa</td>" not in model._repr_html_()
    assert "<td>setosa</td><td>50</td><td>0.3333</td>" in model.fit(*iris)._repr_html_()


def test_display_as_text_stays_text(iris):
    with config_context(display="text"):
        assert not hasattr(sf.LDA().fit(*iris), "_repr_html_")


@pytest.mark.parametrize("model", [sf.LogisticRegression(), sf.LeastSquaresClassifier()])
def test_linear_classifiers_show_their_classes(iris, model):
    assert "<td>setosa</td>" in model.fit(*iris)._repr_html_()


def test_results_show_their_sentence_and_their_rows(iris):
    X, y = iris
    moments = sf.Moments.of(X, y)
    for result in (box_m(moments), normality(X, y), sf.cross_validate(sf.LDA(), X, y, cv=5)):
        html = result._repr_html_()
        assert html.count("<tr>") > 1
        assert "p_value" in html or "error" in html
