"""What the page says of a model follows the fitted one, and of a test what it can show."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import suffice as sf
from suffice.core.text.numbers import cell, percent
from suffice.evaluate.diagnostics import predictive_check
from suffice.present.report.assumptions import checks_in_words
from suffice.present.report.blocks import CALIBRATION, Check, Checks, Code, DataTable, Equation
from suffice.present.report.data_summary import _correlations
from suffice.present.report.documented_table import DocumentedTable
from suffice.present.report.explanation import chosen_model, explanation, model_in_words
from suffice.present.report.findings import ReportSettings, judge
from suffice.present.report.misclassified import misclassified


def judged(X, y, **settings):
    data = DocumentedTable.of(X, y)
    return judge(data, data, ReportSettings(cv=3, fast=True, progress=False, **settings))


@pytest.fixture(scope="module")
def rows(iris):
    X, y = iris
    return X.to_numpy(), y


def test_with_all_pooled_the_covariance_is_common_and_boundaries_are_linear(rows):
    pooled = sf.GaussianClassifier(pooling=1.0)
    said = model_in_words(judged(*rows, estimator=pooled, models=["NB"]))
    assert "All classes share one covariance, so boundaries are linear." in said
    fitted = pooled.fit(*rows)
    np.testing.assert_allclose(
        fitted.predict_proba(rows[0]), sf.LDA().fit(*rows).predict_proba(rows[0])
    )
    assert fitted.model_.model.n_parameters == sf.LDA().fit(*rows).model_.model.n_parameters
    assert type(fitted.boundary("setosa", "virginica")).__name__ == "Hyperplane"


def test_a_row_without_a_decision_is_said_to_have_none(rows):
    found = judged(*rows, estimator=sf.QDA(costs=sf.Costs(reject=0.02)), models=["NB"])
    refused = {found.id(i) for i in np.flatnonzero(found.held_out.predicted < 0)}
    tables = {getattr(b, "caption", ""): b for b in misclassified(found, None).blocks}
    told = {row[0]: row[2] for row in tables["Worst predictions"].rows}
    assert refused & told.keys()
    assert {row for row, said in told.items() if said == "none"} == refused & told.keys()


def test_shrunk_to_the_diagonal_features_are_called_independent(rows):
    said = model_in_words(
        judged(*rows, estimator=sf.GaussianClassifier(shrinkage=1.0), models=["NB"])
    )
    assert "Features are independent within a class." in said
    # what is free are priors, means and variances, as of naive Bayes: 2 + 12 + 12
    assert "26 free parameters" in said
    assert sf.GaussianNB().fit(*rows).model_.model.n_parameters == 26


def test_a_covariance_that_oas_shrinks_to_its_diagonal_has_as_many_parameters_as_that():
    X, y = np.random.default_rng(4).normal(size=(80, 30)), np.arange(80) % 2
    for model, free in ((sf.LDA(shrinkage="oas"), [30]), (sf.QDA(shrinkage="oas"), [30, 465])):
        sigma = np.atleast_3d(model.fit(X, y).covariance_.T).T
        diagonal = [not np.any(s * (1 - np.eye(30))) for s in sigma]  # γ = 1
        assert diagonal == [n == 30 for n in free]
        assert model.model_.model.n_parameters == 1 + 60 + sum(free)
    X[:, 1] += 3 * X[:, 0]
    mixed = sf.LDA(shrinkage=0.5).fit(X, y)
    assert mixed.model_.model.n_parameters == 1 + 60 + 30 * 31 / 2
    assert (
        sf.LDA(shrinkage=sf.Shrinkage(1.0, target="identity"))
        .fit(X, y)
        .model_.model.n_parameters
        == 1 + 60 + 1
    )


def test_coefficients_are_per_standard_deviation(rows):
    """One definition wherever they are told: s_j of all rows, never that within classes."""
    from suffice.present.plots.importance import coefficient_importance

    X, y = rows
    s = X.std(axis=0)
    within = np.sqrt(np.mean([X[y == k].var(axis=0) for k in np.unique(y)], axis=0))
    assert np.all(s / within > 1.2)  # so that the two cannot be taken for each other
    for model in (sf.LDA(), sf.LogisticRegression(1.0)):
        w = model.fit(X, y).coef_
        expected = s * (w - w.mean(0))
        ax = coefficient_importance(model, X)
        order = np.argsort(-np.abs(expected).max(0), kind="stable")
        drawn = [e.get_xdata() for e in ax.lines if e.get_label().startswith("_coefficients")]
        np.testing.assert_allclose(drawn, expected[:, order], rtol=1e-6)
        told = chosen_model(judged(X, y, estimator=model, models=["NB"]))
        (table,) = (b for b in told if "score of each class" in getattr(b, "caption", ""))
        body = {name: values for name, *values in table.rows}
        by = expected if "one standard deviation of all rows" in table.caption else w
        assert ("by one unit" in table.caption) == (by is w)
        for j in range(4):
            np.testing.assert_allclose(body[f"x{j + 1}"], by[:, j], rtol=1e-6)


def test_coefficients_of_scaled_features_are_not_told_as_of_the_features(rows):
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression())
    told = chosen_model(judged(*rows, estimator=model, models=["NB"]))
    (table,) = (b for b in told if isinstance(b, DataTable))
    assert table.caption.endswith("when a scaled feature rises by one unit")
    X, y = rows
    kind = np.where(np.arange(len(y)) % 3, "a", "b")  # encoded, not scaled
    mixed = pd.DataFrame(X[:, :2], columns=["u", "v"]).assign(kind=kind)
    mixed.loc[::9, "u"] = np.nan
    told = chosen_model(judged(mixed, y, models=["logistic"]))
    (table,) = (b for b in told if isinstance(b, DataTable))
    assert table.caption.endswith("when a feature rises by one unit")


def test_coefficients_of_many_features_and_classes_are_shown_as_far_as_there_is_room():
    rng = np.random.default_rng(0)
    y = np.arange(360) % 12
    X = rng.normal(size=(360, 30)) + np.eye(30)[y] * 3
    X[:, 0] *= 0.01  # of hardly any weight in a score, however large its coefficient
    findings = judged(X, y, estimator=sf.LogisticRegression(1.0), models=["NB"])
    section = explanation(findings)
    (table,) = (
        b for b in section.details if "score of each class" in getattr(b, "caption", "")
    )
    names = [row[0] for row in table.rows]
    assert "coefficients" in section.more
    assert len(names) == 1 + 20
    assert names[0] == "intercept"
    assert table.columns == ("", *map(str, range(9)))
    assert table.note.endswith("10 more features not shown. 3 more classes not shown.")
    w = findings.estimator.coef_
    order = np.argsort(-np.abs(w).max(0) * X.std(0), kind="stable")[:20]
    assert names[1:] == [f"x{j + 1}" for j in order]
    for row, j in zip(table.rows[1:], order, strict=True):
        np.testing.assert_allclose(row[1:], w[:9, j])


def test_a_constant_feature_has_no_correlation(rows):
    X, y = rows
    findings = judged(np.column_stack([X, np.ones(len(y))]), y, models=["NB"])
    (table,) = _correlations(findings)
    of_feature = {name: values for name, *values in table.rows}
    assert np.isnan(of_feature["x5"]).all()
    assert np.isfinite(of_feature["x1"]).sum() == 4
    assert cell(of_feature["x5"][0], "signed") == "–"


def test_differences_are_told_by_their_tests_not_by_shares_that_chance_explains(rows):
    X, y = rows
    check = predictive_check(sf.LDA().fit(X, y), X, y, simulations=99)
    assert "ellipsoid" not in repr(check)
    differences = (
        "two respects: the distances of the rows of class 'setosa' from the class mean"
    )
    assert f"{differences} (p ≤ 0.01), and the values of '3' in class 'setosa'" in repr(check)


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
    good = (Check("each class is Gaussian", "?", "yes", "", "good"),)
    assert "with 20 rows, the power of the tests is low" in checks_in_words(good, 20)
    assert "power" not in checks_in_words(good, 500)


@pytest.mark.parametrize(
    ("subject", "is_said"), [("each class is Gaussian", True), (CALIBRATION, False)]
)
def test_differences_too_small_to_matter_are_not_those_of_a_caveat(subject, is_said):
    doubted = (Check(subject, "?", "no", "", "caution"),)
    assert ("too small to matter" in checks_in_words(doubted, 5_000)) == is_said
    assert "too small to matter" not in checks_in_words(doubted, 500)


def test_the_reason_names_the_price_of_a_model_that_cannot_be_written_down():
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    found = judged(X[:900], y[:900], models=["NB", "knn"])
    assert found.name == "nearest neighbours"
    simple = found.comparison["GaussianNB"]
    (said,) = found.verdict.sentences
    limited = np.minimum(found.outcome.row_losses[1], 10).mean()
    assert said.startswith(
        f"Why nearest neighbours: it has the lowest log-loss ({limited:.3f}, capped at 10 "
        "per row)."
    )
    assert (
        f"is easier to read ({percent(simple.error)} errors, log-loss {simple.log_loss:.3f})"
        in said
    )


def test_columns_keep_their_names_in_importance_and_checks(iris):
    X, y = iris
    data = DocumentedTable.of(X, y)
    found = judge(data, data, ReportSettings(models=["LDA"], cv=3, progress=False))
    assert {i.feature for i in found.importance} == set(X.columns)


def test_one_misclassified_row_is_told_in_the_singular(rows):
    X, y = rows
    found = judged(
        X[:100], np.where(np.arange(100) == 7, "versicolor", y[:100]), models=["LDA"]
    )
    assert found.held_out.wrong.sum() == 1
    said = misclassified(found, None).blocks[0].text
    assert said.startswith("LDA misclassified 1 of 100 rows while they were held out. Class ")
    assert said.endswith("Class versicolor was predicted as setosa (1 of 51).")


def test_a_test_that_finds_nothing_shows_no_evidence_and_does_not_say_yes(iris_report):
    (checks,) = (
        b for s in iris_report.sections for b in s.all_blocks if isinstance(b, Checks)
    )
    said = {check.question: check.verdict for check in checks.items}
    assert said["Is each class Gaussian, as LDA assumes?"] == "no evidence against it"
    assert said["Do all classes share one covariance, as LDA assumes?"] == "no"


def test_the_boundary_of_logistic_regression_is_written_out():
    hours, passed = sf.datasets.load("exam").arrays()
    frame = pd.DataFrame(hours, columns=["hours"])
    model = sf.LogisticRegression(l2="auto")
    told = chosen_model(judged(frame, passed, estimator=model, models=["NB"]))
    (equation,) = (b for b in told if isinstance(b, Equation))
    w, b = model.fit(frame, passed).coef_[0, 0], model.intercept_[0]
    assert equation.lines[-1] == f"that is, hours = {-b / w:.4g}"
    assert f"{w:.4g}·hours" in equation.lines[0]
    without = judged(frame, passed, estimator=sf.LeastSquaresClassifier(), models=["NB"])
    assert not [b for b in chosen_model(without) if isinstance(b, Equation)]


def test_an_empty_cell_is_no_level_in_the_count_of_levels():
    kind = pd.Series(["u", "v", None, "u", "v", "u"])
    data = DocumentedTable.of(
        pd.DataFrame({"kind": kind, "x": np.arange(6.0)}), list("ababab")
    )
    (said,) = (note for note in data.notes if "categories" in note)
    assert said.endswith("all levels but one: kind (2 levels and missing)")
    assert data.profiles[0].distinct == 2


def test_the_list_of_words_holds_words_of_the_page(iris_report, rare_report):
    for report in (iris_report, rare_report):
        page, _, rest = report.write("html").partition('id="words"')
        words = re.findall("<dt>(.*?)</dt>", rest.replace(" score", ""))
        assert len(words) > 10
        assert [w for w in words if w not in page] == []
        assert 'href="#words"' in page


def test_what_is_expected_of_more_rows_begins_at_the_error_of_all(iris_report):
    drawn = next(
        b
        for s in iris_report.sections
        for b in s.all_blocks
        if getattr(b, "key", "") == "growth"
    )
    growth = iris_report.judgement.growth
    lines = {s.name: s for s in drawn.series}
    assert lines["expected"].x.tolist() == [f.n_rows for f in growth.forecast]
    assert lines["expected"].y.tolist() == [100 * f.error for f in growth.forecast]
    np.testing.assert_allclose(lines["observed"].y, 100 * growth.error)
    assert drawn.y.name == "error, %"


@pytest.mark.parametrize(
    ("depth", "caption"), [(2, "The tree"), (7, "The tree: the first 5 of ")]
)
def test_a_single_tree_is_written_out_with_names_of_columns_and_classes(depth, caption):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"size": rng.normal(size=300), "kind": np.where(np.arange(300) % 3, "a", "b")}
    )
    y = np.where((X["size"] > 0) ^ (rng.random(300) < 0.2), "large", "small")
    tree = DecisionTreeClassifier(max_depth=depth, random_state=0)
    why = explanation(judged(X, y, estimator=tree, models=["LDA"]))
    (rules,) = (block for block in why.details if isinstance(block, Code))
    assert rules.caption.startswith(caption)
    assert rules.text.startswith("|--- size <= ")
    assert "class: large" in rules.text
    assert ("truncated" in rules.text) == (depth == 7)
    assert "the tree" in why.more
    forest = RandomForestClassifier(5, random_state=0)
    without = explanation(judged(X, y, estimator=forest, models=["LDA"]))
    assert not any(isinstance(block, Code) for block in without.details)
    assert "the tree" not in without.more
