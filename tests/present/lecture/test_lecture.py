"""The page of ``suffice lecture``: its numbers are those of the models."""

import re

import numpy as np
import pytest

import suffice as sf
from suffice.core.text.numbers import number
from suffice.present.lecture import lecture


@pytest.fixture(scope="module")
def exam():
    hours, passed = sf.datasets.load("exam").arrays()
    return hours, passed, lecture(hours, passed, "exam", cv=5)


def test_the_parameters_are_those_of_lda(exam):
    hours, passed, page = exam
    lda = sf.LDA().fit(hours, passed)
    assert page.parameters.rows[0][1:3] == ("10", "0.5")
    assert page.parameters.rows[1][3] == number(lda.means_[1, 0])
    assert page.covariance.rows == (("x₁", number(lda.covariance_[0, 0])),)
    (boundary,) = page.boundaries
    plane = lda.boundary("yes", "no")
    assert boundary.equation == plane.equation()
    assert boundary.distance_of_origin == number(-plane.w_0 / abs(plane.w[0]))


def test_both_models_state_the_log_odds_of_the_second_class(exam):
    hours, passed, page = exam
    lda = sf.LDA().fit(hours, passed)
    logistic = sf.LogisticRegression(l2=0).fit(hours, passed)
    generative, discriminative = page.coefficients.rows
    expected = (number(lda.intercept_[0]), number(lda.coef_[0, 0]))
    assert generative == ("yes against no", "LDA", *expected)
    assert discriminative[2:] == (number(logistic.intercept_[0]), number(logistic.coef_[0, 0]))
    assert discriminative[2:] == ("−4.078", "1.505")  # as the lectures print them
    assert page.fit_of_logistic == "by maximum likelihood"


def test_hyperplanes_and_log_odds_have_the_same_signs():
    X, y = sf.datasets.load("iris").arrays()
    page = lecture(X, y, "iris", cv=3)
    assert page.fit_of_logistic.startswith("with penalty 1, because a hyperplane separates")
    planes = {(plane.first, plane.second): plane.equation for plane in page.boundaries}
    assert list(planes) == [
        ("versicolor", "setosa"),
        ("virginica", "setosa"),
        ("virginica", "versicolor"),
    ]
    for log_odds, model, w_0, w_1, *_ in page.coefficients.rows:
        if model == "LDA":
            equation = planes[tuple(log_odds.split(" against "))]
            assert equation.startswith(f"{w_1}·")
            assert w_0.lstrip("−") in equation


def test_the_table_counts_parameters_and_held_out_errors(exam):
    hours, passed, page = exam
    rows = {row[0]: row[1:] for row in page.sides.rows}
    assert rows["parameters"] == ("4", "2")
    frame = sf.compare(
        hours, passed, {"LDA": sf.LDA(), "logistic": sf.LogisticRegression()}, cv=5
    ).to_frame()
    assert rows["held-out log-loss"][0] == number(frame.loc["LDA", "log_loss"])


def test_the_page_is_complete_and_loads_nothing(exam):
    html = exam[2].html()
    assert "<title>A lecture on exam</title>" in html
    assert html.count("data:image/svg+xml;base64,") == 2
    assert re.findall(r"(?:src|href)=.(?!data:)[^>]*", html) == []
    assert "base-uri 'none'; form-action 'none'" in html


def test_many_classes_and_features_are_cut_and_counted():
    rng = np.random.default_rng(0)
    y = np.repeat([f"<{k}>" for k in range(6)], 30)
    X = rng.normal(size=(180, 14)) + 2 * np.repeat(np.arange(6), 30)[:, None]
    page = lecture(X, y, "many", cv=3)
    assert page.n_boundaries == 15
    assert len(page.boundaries) == 10
    assert page.covariance is None
    html = page.html()
    assert "5 more pairs are not shown" in html
    assert "<b><0></b>" not in html
