from html import escape

import pytest
from sklearn import config_context

import suffice as sf
from suffice.core.text.tables import html_table
from suffice.evaluate.diagnostics import box_m, normality


def test_whatever_is_in_a_table_is_escaped():
    assert "<b>" not in html_table(["<b>", "x"], [["<b>", 1.0]])


def without_styles(html):
    return html.replace(' style="text-align:right"', "")


def test_moments_show_classes_counts_and_means(iris):
    X, y = iris
    html = without_styles(sf.Moments.of(X, y)._repr_html_())
    assert "mean of petal_length" in html
    assert "<td>setosa</td><td>50</td>" in html


def test_a_fitted_estimator_shows_what_it_learnt_under_its_diagram(iris):
    model = sf.LDA()
    assert "<td>setosa</td>" not in model._repr_html_()
    html = without_styles(model.fit(*iris)._repr_html_())
    assert "<td>setosa</td><td>50</td><td>0.3333</td>" in html


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


def test_a_classifier_says_how_many_features_it_was_fitted_to(iris):
    html = sf.LDA().fit(*iris)._repr_html_()
    assert "2 features" not in html
    assert "150 rows, 4 features, 3 classes" in html


@pytest.mark.parametrize(
    "model", [sf.Perceptron(variant="averaged"), sf.LogisticRegression(), sf.LDA()]
)
def test_linear_scores_are_shown_as_coefficients(iris, model):
    html = without_styles(model.fit(*iris)._repr_html_())
    assert "<th>petal_length</th>" in html
    assert f"{float(model.coef_[0, 2]):.4g}" in html


@pytest.mark.parametrize("kind", [sf.AutoGaussian, sf.AutoClassifier])
def test_an_average_shows_what_it_averages(iris, kind):
    X, y = iris
    model = kind().fit(X[::3], y[::3])
    html = without_styles(model._repr_html_())
    for choice in model.choices_[:3]:
        assert escape(choice.describe()) in html
    assert "<th>share</th>" in html


def test_a_summary_of_logistic_regression_is_a_table_of_odds(iris):
    X, y = iris
    binary = (y == "virginica").astype(int)
    summary = sf.LogisticRegression(l2=1.0).fit(X, binary).summary()
    html = summary._repr_html_()
    assert "<td>petal_width</td>" in html
    assert "odds ratio" in html
    assert "pseudo-R²" in html


def test_a_boundary_shows_its_equation_and_its_sides():
    plane = sf.Hyperplane([3.0, -4.0], 10.0, ("length", "width"), ("bass", "salmon"))
    html = plane._repr_html_()
    assert "3·length − 4·width + 10 = 0" in html
    assert "bass" in html
    assert "salmon" in html


def test_sets_of_classes_show_how_large_they_are(iris):
    X, y = iris
    sets = sf.QDA().fit(X, y).calibrate(X, y).predict_set(X, 0.9)
    html = without_styles(sets._repr_html_())
    assert "<th>classes in the set</th>" in html
    assert f"<td>{int((sets.sizes == 1).sum())}</td>" in html
    assert "90 %" in html


def test_the_best_row_of_a_grid_is_marked_even_where_it_is_the_last(iris):
    X, y = iris
    grid = {"shrinkage": [*([1.0] * 14), 0.0]}
    result = sf.cross_validate(sf.LDA(), X, y, cv=5, grid=grid)
    html = result._repr_html_()
    assert result.best_index == 14
    assert html.count('<tr class="best"') == 1
    assert "<td>0</td>" in html.split('<tr class="best"')[1].split("</tr>")[0]


def test_numbers_of_data_sets_and_predictions_stand_on_the_right(iris):
    right = '<td style="text-align:right">'
    html = sf.datasets.load("iris")._repr_html_()
    assert f"<td>rows</td>{right}150</td>" in html
    assert "The target is species." in html
    html = sf.leave_one_out(sf.LDA(), *iris)._repr_html_()
    assert f"<td>error</td>{right}0.02</td>" in html
