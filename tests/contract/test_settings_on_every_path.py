"""Every setting means the same on every path, or is refused there by name."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

import suffice as sf
from suffice.cli.group import suffice
from suffice.errors import SufficeError
from suffice.persistence.load import load_classifier

PRIOR = sf.NormalInverseWishart(np.full(3, 4.0), 2.0, np.eye(3), 8.0)
COSTS = [[0, 1, 5], [1, 0, 1], [1, 1, 0]]
# setting and value, with what else the value needs
SETTINGS = {
    "covariance=diagonal": {"covariance": "diagonal"},
    "covariance=spherical": {"covariance": "spherical"},
    "covariance=VEV": {"covariance": "VEV"},
    "covariance=tree": {"covariance": "tree"},
    "covariance=auto": {"covariance": "auto"},
    "tied=True": {"tied": True},
    "tied=groups": {"tied": [["setosa", "virginica"], ["versicolor"]]},
    "pooling=0.3": {"pooling": 0.3},
    "pooling=auto": {"pooling": "auto"},
    "shrinkage=0.2": {"shrinkage": 0.2},
    "shrinkage=oas": {"shrinkage": "oas"},
    "shrinkage=ledoit-wolf": {"shrinkage": "ledoit-wolf"},
    "shrinkage=auto": {"shrinkage": "auto"},
    "shrinkage=sphere": {"shrinkage": sf.Shrinkage(0.3, target="sphere")},
    "divisor=unbiased": {"divisor": "unbiased"},
    "divisor=averaged": {"divisor": "averaged", "tied": True},
    "estimate=map": {"estimate": "map"},
    "estimate=predictive": {"estimate": "predictive"},
    "estimate=prior": {"estimate": PRIOR},
    "priors=uniform": {"priors": "uniform"},
    "priors=array": {"priors": [0.2, 0.3, 0.5]},
    "priors=mapping": {"priors": {"setosa": 0.5, "versicolor": 0.3, "virginica": 0.2}},
    "priors=Dirichlet": {"priors": sf.Dirichlet(20.0)},
    "costs=matrix": {"costs": COSTS},
    "costs=mapping": {"costs": {("setosa", "virginica"): 9.0}},
    "costs=reject": {"costs": sf.Costs(reject=0.05, reject_label="?")},
    "power=yeo-johnson": {"power": "yeo-johnson"},
    "power=auto": {"power": "auto"},
    "temperature=2.5": {"temperature": 2.5},
    "temperature=auto": {"temperature": "auto"},
    "categorical=columns": {"categorical": ["width"], "covariance": "diagonal"},
    "categorical=smoothing": {
        "categorical": sf.Categorical(["width"], smoothing=9.0),
        "covariance": "diagonal",
    },
    "missing=indicator": {"missing": "indicator"},
    "n_jobs=1": {"n_jobs": 1},
}


def table(name):
    """Return rows and labels that the setting changes the answer of."""
    rows, y = sf.datasets.load("iris").arrays()
    rng = np.random.default_rng(1)
    order = rng.permutation(len(y))[:130]  # classes of different sizes
    rows = rows[order] + rng.normal(size=(130, 4)) * [0.3, 0.3, 1.2, 0.6]
    y = y[order]
    X = pd.DataFrame(rows[:, 1:], columns=["sepal", "length", "width"])
    X["length"] = np.exp(X["length"] / 3)
    if name.startswith("categorical"):
        X["width"] = X["width"].round(0)
    if name == "covariance=tree":
        X["colour"] = np.where(X["sepal"] > 3, "red", "blue")
    if name == "missing=indicator":
        X.loc[rng.random(len(y)) < 0.2, "length"] = np.nan
    return X, y


def answers(model, X):
    return np.asarray(model.predict_proba(X)), np.asarray(model.predict(X))


def assert_same(found, expected, rtol=1e-7):
    np.testing.assert_allclose(found[0], expected[0], rtol=rtol, atol=1e-9)
    assert found[1].tolist() == expected[1].tolist()


def collected(name, X, y):
    """Return sums that were collected as the setting asks for."""
    words = SETTINGS[name]
    options = {"storage": "per-class", "fourth": name == "shrinkage=ledoit-wolf"}
    if name.startswith("categorical"):
        options["categorical"] = ["width"]
    if name == "missing=indicator":
        options["missing"] = "indicator"
    if words.get("power") == "yeo-johnson":
        options["power"] = "yeo-johnson"
    return sf.Moments.of(X, y, **options)


@pytest.fixture(params=SETTINGS)
def case(request):
    X, y = table(request.param)
    estimator = sf.GaussianClassifier(**SETTINGS[request.param])
    return request.param, estimator, X, y


def test_a_setting_changes_the_answer(case):
    name, estimator, X, y = case
    if name in {"n_jobs=1", "power=auto", "covariance=auto"}:
        return  # may well choose what is the default
    general = {"categorical": ["width"]} if name == "categorical=smoothing" else {}
    if name == "covariance=tree":
        general = {"covariance": "diagonal"}
    if name == "divisor=averaged":
        general = {"tied": True}
    if name.startswith("categorical"):
        general["covariance"] = "diagonal"
    plain = sf.GaussianClassifier(**general).fit(X, y)
    found = answers(clone(estimator).fit(X, y), X)
    expected = answers(plain, X)
    posteriors_differ = np.abs(found[0] - expected[0]).max() > 1e-6
    assert posteriors_differ or found[1].tolist() != expected[1].tolist()


def test_sums_give_the_model_of_the_rows_or_a_refusal(case):
    name, estimator, X, y = case
    moments = collected(name, X, y)
    setting, value = name.split("=")
    if value == "auto" and setting != "covariance":
        with pytest.raises(SufficeError, match=f"{setting}='auto'"):
            clone(estimator).fit_moments(moments)
        return
    expected = answers(clone(estimator).fit(X, y), X)
    assert_same(answers(clone(estimator).fit_moments(moments), X), expected)


@pytest.mark.parametrize("name", ["categorical=columns", "power=yeo-johnson"])
def test_sums_collected_without_a_setting_are_refused_by_its_name(name):
    X, y = table(name)
    moments = sf.Moments.of(X, y, storage="per-class")
    with pytest.raises(SufficeError, match=name.split("=")[0]):
        sf.GaussianClassifier(**SETTINGS[name]).fit_moments(moments)


def test_sums_of_unmarked_missing_cells_are_refused_by_the_name_of_the_setting():
    X, y = table("missing=indicator")
    with pytest.raises(SufficeError, match="missing='indicator'"):
        sf.GaussianClassifier(missing="indicator").fit_moments(sf.Moments.of(X, y))


def test_batches_give_the_model_of_all_rows(case):
    name, estimator, X, y = case
    expected = answers(clone(estimator).fit(X, y), X)
    streamed = clone(estimator).partial_fit(X, y)
    assert_same(answers(streamed, X), expected)
    if name.split("=")[1] == "auto" or name == "power=yeo-johnson":
        return  # chosen from the first batch
    parts = clone(estimator)
    for rows in np.array_split(np.arange(len(y)), 3):
        parts.partial_fit(X.iloc[rows], y[rows])
    assert_same(answers(parts, X), expected)


def test_a_file_gives_the_same_answers(case, tmp_path):
    _, estimator, X, y = case
    fitted = clone(estimator).fit(X, y)
    fitted.save(tmp_path / "model.suffice")
    expected = answers(fitted, X)
    again = sf.load(tmp_path / "model.suffice")
    np.testing.assert_array_equal(answers(again, X)[0], expected[0])
    assert answers(again, X)[1].tolist() == expected[1].tolist()
    assert repr(again) == repr(fitted)
    light = load_classifier(tmp_path / "model.suffice")
    np.testing.assert_allclose(light.posterior(X), expected[0], rtol=1e-12, atol=1e-300)
    assert light.predict(X).tolist() == expected[1].tolist()


def test_a_file_gives_the_same_answers_under_other_priors_and_costs(case, tmp_path):
    _, estimator, X, y = case
    fitted = clone(estimator).fit(X, y)
    fitted.save(tmp_path / "model.suffice")
    again = sf.load(tmp_path / "model.suffice")
    for change in (
        lambda model: model.with_priors("uniform"),
        lambda model: model.with_costs(COSTS),
        lambda model: model.with_priors([0.6, 0.2, 0.2]).with_costs(sf.Costs(reject=0.2)),
    ):
        found = answers(change(again), X)
        expected = answers(change(fitted), X)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1].astype(str), expected[1].astype(str))


def test_cross_validation_equals_fitting_again(case):
    name, estimator, X, y = case
    folds = list(StratifiedKFold(3).split(X, y))
    losses, errors = [], []
    for train, test in folds:
        model = clone(estimator).fit(X.iloc[train], y[train])
        codes = np.searchsorted(model.classes_, y[test])
        logs = model.predict_log_proba(X.iloc[test])[np.arange(len(test)), codes]
        losses.append(-logs.mean())
        errors.append((np.asarray(model.predict(X.iloc[test])) != y[test]).mean())
    if name == "power=yeo-johnson":
        return  # fitted once, without labels, on all rows
    result = sf.cross_validate(clone(estimator), X, y, cv=folds).to_frame()
    assert result["log_loss"][0] == pytest.approx(np.mean(losses), rel=1e-6)
    if name != "costs=reject":  # refused rows are no errors
        assert result["error"][0] == pytest.approx(np.mean(errors))


WORDS = {
    "shrinkage=sphere": {"shrinkage": {"intensity": 0.3, "target": "sphere"}},
    "priors=Dirichlet": {"priors": {"alpha": 20.0}},
    "costs=reject": {"costs": {"reject": 0.05, "reject_label": "?"}},
    "categorical=smoothing": {
        "categorical": {"columns": ["width"], "smoothing": 9.0},
        "covariance": "diagonal",
    },
}


def test_the_command_line_gives_the_same_model(case, tmp_path):
    name, estimator, X, y = case
    if name in {"estimate=prior", "costs=mapping"}:
        return  # no JSON stands for these; see the next test
    X.assign(species=y).to_csv(tmp_path / "rows.csv", index=False)
    words = WORDS.get(name, SETTINGS[name])
    options = [f"--set={key}={json.dumps(value)}" for key, value in words.items()]
    model = tmp_path / "m.suffice"
    arguments = ["fit", str(tmp_path / "rows.csv"), "-t", "species", "-m", "gaussian"]
    done = CliRunner().invoke(suffice, [*arguments, *options, "-o", str(model)])
    assert done.exit_code == 0, done.output
    assert_same(answers(sf.load(model), X), answers(clone(estimator).fit(X, y), X))


@pytest.mark.slow
def test_the_command_line_collects_the_sums_that_a_model_needs(tmp_path):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(40, 730)).round(3)).add_prefix("x")
    rows.assign(kind=np.repeat(["a", "b"], 20)).to_csv(tmp_path / "wide.csv", index=False)
    arguments = ["fit", str(tmp_path / "wide.csv"), "-t", "kind", "-o", str(tmp_path / "m")]
    for options in (
        ["--model", "qda", "--shrinkage", "0.5"],
        ["--model", "lda", '--set=shrinkage={"intensity": "ledoit-wolf"}'],
    ):
        done = CliRunner().invoke(suffice, [*arguments, *options])
        assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("estimate", '{"mean": [0, 0, 0]}'),
        ("missing", "banana"),
        ("unlabelled", "1"),
        ("prediction_sets", "true"),
        ("costs", '{"setosa": 3}'),
    ],
)
def test_the_command_line_refuses_what_it_cannot_honour_by_name(setting, value, tmp_path):
    arguments = ["fit", "iris", "-m", "gaussian", f"--set={setting}={value}"]
    done = CliRunner().invoke(suffice, [*arguments, "-o", str(tmp_path / "m.suffice")])
    assert done.exit_code != 0
    assert setting in done.output
    assert not (tmp_path / "m.suffice").exists()


def test_every_parameter_of_the_general_classifier_is_tried():
    tried = {name for words in SETTINGS.values() for name in words}
    assert tried == set(sf.GaussianClassifier().get_params())


def test_n_components_is_kept_on_every_path(tmp_path):
    X, y = table("n_components=1")
    fitted = sf.LDA(n_components=1).fit(X, y)
    expected = answers(fitted, X)
    assert np.abs(expected[0] - answers(sf.LDA().fit(X, y), X)[0]).max() > 1e-3
    assert_same(answers(sf.LDA(n_components=1).fit_moments(sf.Moments.of(X, y)), X), expected)
    assert_same(answers(sf.LDA(n_components=1).partial_fit(X, y), X), expected)
    fitted.save(tmp_path / "model.suffice")
    assert_same(answers(sf.load(tmp_path / "model.suffice"), X), expected)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("covariance", "banana"),
        ("tied", "banana"),
        ("pooling", 3),
        ("shrinkage", "banana"),
        ("divisor", "banana"),
        ("estimate", "banana"),
        ("priors", "banana"),
        ("costs", "banana"),
        ("power", "banana"),
        ("temperature", -1.0),
        ("missing", "banana"),
    ],
)
def test_a_wrong_value_is_refused_by_name_on_every_path(setting, value):
    X, y = table("")
    estimator = sf.GaussianClassifier(**{setting: value})
    for learn in (
        lambda: estimator.fit(X, y),
        lambda: estimator.partial_fit(X, y),
        lambda: estimator.fit_moments(sf.Moments.of(X, y)),
        lambda: sf.cross_validate(estimator, X, y),
        lambda: sf.leave_one_out(estimator, X, y),
    ):
        with pytest.raises(SufficeError, match=setting):
            learn()


def test_frames_with_columns_in_another_order_are_read_by_name():
    X, y = table("")
    fitted = sf.QDA().fit(X, y)
    turned = X[X.columns[::-1]]
    np.testing.assert_array_equal(
        fitted.model_.log_density(turned), fitted.model_.log_density(X)
    )
    with pytest.raises(SufficeError, match="'width'"):
        fitted.model_.log_density(pd.DataFrame(X).drop(columns="width"))
