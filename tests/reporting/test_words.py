"""What the page says of a model follows the fitted one, and of a test what it can show."""

import numpy as np
import pytest

import suffice as sf
from suffice.diagnostics import predictive_check
from suffice.reporting.answer import reason
from suffice.reporting.blocks import Check
from suffice.reporting.choosing import ReportSettings, judge
from suffice.reporting.documented import DocumentedTable
from suffice.reporting.misclassified import misclassified
from suffice.reporting.trust import in_words as trust_in_words
from suffice.reporting.why import in_words


def judged(X, y, **settings):
    data = DocumentedTable.of(X, y)
    return judge(data, data, ReportSettings(cv=3, fast=True, progress=False, **settings))


@pytest.fixture(scope="module")
def rows(iris):
    X, y = iris
    return X.to_numpy(), y


def test_with_all_pooled_the_covariance_is_common_and_boundaries_are_linear(rows):
    pooled = sf.GaussianClassifier(pooling=1.0)
    said = in_words(judged(*rows, estimator=pooled, models=["NB"]))
    assert "one covariance shared by all classes; boundaries are linear" in said
    fitted = pooled.fit(*rows)
    np.testing.assert_allclose(
        fitted.predict_proba(rows[0]), sf.LDA().fit(*rows).predict_proba(rows[0])
    )
    assert fitted.model_.n_parameters == sf.LDA().fit(*rows).model_.n_parameters
    assert type(fitted.boundary("setosa", "virginica")).__name__ == "Hyperplane"


def test_a_row_without_a_decision_is_said_to_have_none(rows):
    found = judged(*rows, estimator=sf.QDA(reject_cost=0.02), models=["NB"])
    refused = {found.id(i) for i in np.flatnonzero(found.held_out.predicted < 0)}
    tables = {getattr(b, "caption", ""): b for b in misclassified(found, None).blocks}
    told = {row[0]: row[2] for row in tables["Most confused rows"].rows}
    assert refused & told.keys()
    assert {row for row, said in told.items() if said == "none"} == refused & told.keys()


def test_shrunk_to_the_diagonal_features_are_called_independent(rows):
    said = in_words(judged(*rows, estimator=sf.GaussianClassifier(shrinkage=1.0), models=["NB"]))
    assert "features independent within a class" in said


def test_differences_are_told_by_their_tests_not_by_shares_that_chance_explains(rows):
    X, y = rows
    check = predictive_check(sf.LDA().fit(X, y), X, y, simulations=99)
    assert "ellipsoid" not in repr(check)
    assert "distances p" in repr(check)


def test_the_least_p_value_of_simulations_is_called_a_bound(rows):
    X, y = rows
    check = predictive_check(sf.LDA().fit(X, y), X, y, simulations=99)
    assert check.p_values[1] == 0.01
    assert "p ≤ 0.01" in repr(check)
    assert "p = 0.01" not in repr(check)


def test_a_transformed_model_is_checked_in_the_features_it_sees(rows):
    X, y = rows
    model = sf.LDA(power="yeo-johnson").fit(X, y)
    check = predictive_check(model, X, y, simulations=39)
    seen = model.moments_.power.apply(X)
    plain = predictive_check(sf.LDA().fit(seen, y), seen, y, simulations=39)
    np.testing.assert_allclose(check.values[0, :, 0], plain.values[0, :, 0], rtol=1e-6)


def test_of_few_rows_the_power_of_tests_is_said_to_be_low():
    good = (Check("?", "yes", "", "good"),)
    assert "with 20 rows their power is low" in trust_in_words(good, 20)
    assert "power" not in trust_in_words(good, 500)


def test_the_reason_names_the_price_of_a_model_that_cannot_be_written_down():
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    found = judged(X[:900], y[:900], models=["NB", "knn"])
    assert found.name == "nearest neighbours"
    simple = found.comparison["GaussianNB"]
    points = 100 * (simple.error - found.outcome.error)
    assert f"{points:.1f} points more" in reason(found)
    assert "without densities" not in reason(found)


def test_columns_keep_their_names_in_importance_and_checks(iris):
    X, y = iris
    data = DocumentedTable.of(X, y)
    found = judge(data, data, ReportSettings(models=["LDA"], cv=3, progress=False))
    assert {i.feature for i in found.importance} == set(X.columns)
