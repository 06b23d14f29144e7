"""What the page computes is what Python returns for the same points, to 1e-9."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

import suffice as sf
from suffice.core.estimation.mixture_em import MixtureProblem
from suffice.core.estimation.mixture_rows import MixtureRows
from suffice.core.estimation.mixture_settings import MixtureSettings
from suffice.core.model.mixture import MixtureModel
from suffice.core.table import Table
from suffice.lectures import GradientDescent, PerceptronLearning
from suffice.present.report.effects import ExplainedModel, contributions

pytestmark = [pytest.mark.slow, pytest.mark.browser]

N = 15  # cells of the grid that is compared
WINDOW = (-6.0, 6.0, -5.0, 7.0)
CLOSE = {"rtol": 0, "atol": 1e-9}


def blobs(n_classes, n=40, seed=0):
    """Return points of classes that overlap, and their codes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    spread = rng.normal(size=(n_classes, 2, 2))
    x = rng.normal(0, 2, (n_classes, 2))[y] + np.einsum(
        "nij,nj->ni", spread[y], rng.normal(size=(n, 2))
    )
    return x, y


def noisy(n_classes, n=60, seed=0):
    """Return points of classes that no line separates."""
    x, y = blobs(n_classes, n, seed)
    wrong = np.random.default_rng(seed).random(n) < 0.25
    return x, (y + wrong) % n_classes


def shown(page, x, y, dimension=2, **settings):
    """Show points under settings; return posteriors (n², K) and actions on the grid of cells."""
    return every_shown(page, x, y, [settings], dimension)[0]


def every_shown(page, x, y, settings, dimension=2):
    """Return the same for each of several settings."""
    points = np.column_stack([x, np.zeros(len(x)), y] if dimension == 1 else [x, y]).tolist()
    first = {"points": points, "window": WINDOW, "dimension": dimension, "painted": True}
    told = page.evaluate(f"""{json.dumps([first | each for each in settings])}.map((state) => {{
      lab.openScene("lda", state);
      const grid = lab.grid({N});
      return [Array.from(grid.p), Array.from(grid.action)];
    }})""")
    return [(np.array(p).reshape(N * N, -1), np.array(actions)) for p, actions in told]


def painted(page, code):
    """Return the value of an expression once the page has painted."""
    page.evaluate(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    return page.evaluate(code)


def grid(dimension=2):
    u = (np.arange(N) + 0.5) / N
    x = WINDOW[0] + u * (WINDOW[1] - WINDOW[0])
    y = WINDOW[2] + u * (WINDOW[3] - WINDOW[2])
    rows = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    return rows[:, :dimension]


GAUSSIANS = {
    "lda": ({"model": "lda"}, {"tied": True}),
    "qda": ({"model": "qda"}, {}),
    "naive": ({"model": "naive"}, {"covariance": "diagonal"}),
    "spherical": ({"model": "spherical"}, {"covariance": "spherical"}),
    "partial": (
        {"model": "partial", "tied": [False, True, True, False, False]},
        {"tied": [[1, 2]]},
    ),
}
REGULARISED = {
    "unbiased": ({"divisor": "unbiased"}, {"divisor": "unbiased"}),
    "averaged": ({"divisor": "averaged"}, {"divisor": "averaged"}),
    "pooled": ({"pooling": 0.3}, {"pooling": 0.3}),
    "shrunk": ({"shrinkage": 0.4}, {"shrinkage": 0.4}),
    "sphere": (
        {"pooling": 0.2, "shrinkage": 0.5, "target": "sphere", "divisor": "unbiased"},
        {
            "pooling": 0.2,
            "shrinkage": sf.Shrinkage(0.5, target="sphere"),
            "divisor": "unbiased",
        },
    ),
    "priors": (
        {"stated": True, "priors": [0.2, 0.6, 1.2, 0, 0]},
        {"priors": np.array([0.2, 0.6, 1.2]) / 2},
    ),
    "softer": ({"temperature": 2.5}, {"temperature": 2.5}),
}


@pytest.mark.filterwarnings("ignore:.*has no effect")  # the lab's dials stay where they are
@pytest.mark.parametrize("name", GAUSSIANS)
def test_gaussian_posteriors(page, name):
    x, y = blobs(3)
    (settings, own), ways = GAUSSIANS[name], REGULARISED.values()
    told = every_shown(page, x, y, [settings | changed for changed, _ in ways])
    for (posteriors, actions), (_, changed) in zip(told, ways, strict=True):
        fit = sf.GaussianClassifier(**own, **changed).fit(x, y)
        np.testing.assert_allclose(posteriors, fit.predict_proba(grid()), **CLOSE)
        np.testing.assert_array_equal(actions, fit.predict(grid()))


@pytest.mark.parametrize("name", ["lda", "qda", "partial", "naive", "spherical"])
def test_equations_errors_and_log_likelihood(page, name):
    x, y = blobs(3, seed=1)
    fit = sf.GaussianClassifier(**GAUSSIANS[name][1]).fit(x, y)
    shown(page, x, y, **GAUSSIANS[name][0])
    told = page.evaluate("lab.equations()")
    assert len(told) == 3
    for each in told:
        boundary = fit.boundary(each["a"], each["b"])
        A, b, c = (each["boundary"][part] for part in "Abc")
        A = np.zeros((2, 2)) if A is None else np.array(A)
        y_told = np.einsum("ni,ij,nj->n", grid(), A, grid()) + grid() @ b + c
        np.testing.assert_allclose(y_told, boundary.evaluate(grid()), **CLOSE)
        assert each["kind"] == getattr(boundary, "kind", "line")
        assert each["text"] == boundary.equation()
    assert page.evaluate("lab.errors().wrong") == (fit.predict(x) != y).sum()
    said = painted(page, "document.querySelector('#told').textContent")
    assert f"{abs(fit.log_likelihood(x, y)):.3f}" in said


@pytest.mark.filterwarnings("ignore::suffice.errors.DegenerateDataWarning")
@pytest.mark.parametrize(
    "points",
    [
        [[0, 0, 0], [1, 2, 0], [3, 1, 0], [4, 4, 1]],  # a class of one point
        [[0, 0, 0], [1, 1, 0], [3, 3, 0], [4, 1, 1], [5, 2, 1], [5, 0, 1]],  # on a line
        [[0, 1, 0], [0, 2, 0], [0, 4, 0], [3, 1, 1], [3, 2, 1]],  # constant in both classes
        [[-1, 0, 0], [2, 1, 1]],
    ],
)
def test_directions_without_variance_borrow_it_alike(page, points):
    points, names = np.array(points, float), ["lda", "qda", "naive", "spherical"]
    x, y = points[:, :2], points[:, 2].astype(int)
    told = every_shown(page, x, y, [GAUSSIANS[name][0] for name in names])
    for (posteriors, _), name in zip(told, names, strict=True):
        fit = sf.GaussianClassifier(**GAUSSIANS[name][1]).fit(x, y)
        np.testing.assert_allclose(posteriors, fit.predict_proba(grid()), rtol=0, atol=1e-7)


def test_costs_and_the_reject_action(page):
    x, y = blobs(3, seed=2)
    dear = [1.0, 4.0, 0.5]
    costs = (1 - np.eye(3)) * dear
    fit = sf.QDA(costs=sf.Costs(costs, reject=0.3, reject_label=3)).fit(x, y)
    _, actions = shown(page, x, y, model="qda", costs=[*dear, 1, 1], reject=0.3)
    assert set(actions) == {0, 1, 2, 3}
    np.testing.assert_array_equal(actions, fit.predict(grid()))
    told = page.evaluate("lab.errors()")
    assert told["rejected"] == (fit.predict(x) == 3).sum()
    assert told["wrong"] == ((fit.predict(x) != y) & (fit.predict(x) != 3)).sum()


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("l2", [0, 2.5])
def test_logistic_regression_by_newton(page, n_classes, l2):
    x, y = noisy(n_classes, seed=3)
    fit = sf.LogisticRegression(l2).fit(x, y)
    posteriors, _ = shown(page, x, y, model="logistic", l2=l2)
    np.testing.assert_allclose(posteriors, fit.predict_proba(grid()), **CLOSE)


@pytest.mark.filterwarnings("ignore::suffice.errors.SeparationWarning")
def test_separable_classes_get_the_same_penalty(page):
    x, y = blobs(2, 12, seed=4)
    x = x + 9 * y[:, None]
    fit = sf.LogisticRegression(0).fit(x, y)
    posteriors, _ = shown(page, x, y, model="logistic", l2=0)
    np.testing.assert_allclose(posteriors, fit.predict_proba(grid()), **CLOSE)
    assert "no maximum" in painted(page, "document.querySelector('#told').textContent")


@pytest.mark.filterwarnings("ignore::suffice.errors.NotConvergedWarning")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("solver", ["gd", "sgd"])
def test_descents_in_the_units_of_the_data(page, n_classes, solver):
    x, y = blobs(n_classes, seed=5)
    descent = GradientDescent(solver, learning_rate=0.05, start="zero", standardize=False)
    fit = sf.LogisticRegression(0.5, solver=descent, max_iter=30, tol=1e-300).fit(x, y)
    posteriors, _ = shown(
        page, x, y, model="logistic", solver=solver, l2=0.5, rate=0.05, passes=30
    )
    np.testing.assert_allclose(posteriors, fit.predict_proba(grid()), **CLOSE)


@pytest.mark.filterwarnings("ignore::suffice.errors.NotConvergedWarning")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_perceptron_in_batches(page, n_classes):
    x, y = blobs(n_classes, seed=6)
    batch = PerceptronLearning("batch", standardize=False)
    fit = sf.Perceptron(learning=batch, learning_rate=0.1, max_iter=25).fit(x, y)
    _, actions = shown(page, x, y, model="perceptron", batch=True, rate=0.1, passes=25)
    np.testing.assert_array_equal(actions, fit.predict(grid()))
    w = page.evaluate("lab.session.fit.model.weights")
    found = np.diff(w, axis=0) if n_classes == 2 else np.array(w)
    np.testing.assert_allclose(found, fit.coef_, **CLOSE)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_least_squares(page, n_classes):
    x, y = blobs(n_classes, seed=7)
    fit = sf.LeastSquaresClassifier().fit(x, y)
    _, actions = shown(page, x, y, model="squares")
    np.testing.assert_array_equal(actions, fit.predict(grid()))
    at = page.evaluate("lab.session.fit.model.scores([1, 2], [0, 0, 0])")[:n_classes]
    scores = fit.decision_function([[1.0, 2.0]])[0]
    np.testing.assert_allclose(np.diff(at)[0] if n_classes == 2 else at, scores, **CLOSE)


@pytest.mark.filterwarnings("ignore::suffice.errors.NotConvergedWarning")
def test_the_three_lines_are_those_of_three_models(page):
    x, y = noisy(2)
    in_order = PerceptronLearning(shuffle=False, standardize=False)
    models = [
        sf.LDA(),
        sf.LeastSquaresClassifier(),
        sf.Perceptron(learning=in_order, learning_rate=0.5, max_iter=7),
    ]
    shown(page, x, y, rate=0.5, passes=7, show={"lines": True})
    lines = np.array(page.evaluate("lab.threeLines()"))
    for (c, *b), model in zip(lines, models, strict=True):
        fit = model.fit(x, y)
        expected = np.r_[fit.intercept_, fit.coef_[0]]
        # the page is positive on the side of the first class
        np.testing.assert_allclose(
            -np.array([c, *b]) / np.linalg.norm(b),
            expected / np.linalg.norm(fit.coef_),
            **CLOSE,
        )


def test_w_stands_at_right_angles_to_the_line(page):
    x, y = blobs(2, seed=3)
    shown(page, x, y, model="lda")
    arrow = page.evaluate("lab.normalArrow()")
    plane = sf.LDA().fit(x, y).boundary(0, 1)
    np.testing.assert_allclose(plane.evaluate([arrow["foot"]]), 0, **CLOSE)
    along = np.subtract(arrow["tip"], arrow["foot"])
    np.testing.assert_allclose(
        along / np.linalg.norm(along), plane.w / np.linalg.norm(plane.w), **CLOSE
    )


@pytest.mark.parametrize(("k", "weights"), [(1, "uniform"), (7, "uniform"), (7, "distance")])
def test_nearest_neighbours(page, k, weights):
    x, y = blobs(3, 50, seed=8)
    fit = KNeighborsClassifier(k, weights=weights).fit(x, y)
    posteriors, _ = shown(
        page, x, y, model="neighbours", k=k, byDistance=weights == "distance"
    )
    np.testing.assert_allclose(posteriors, fit.predict_proba(grid()), **CLOSE)


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_mixtures_from_the_same_start(page, steps):
    """EM of Python, begun where that of the page began, is where it is after as many steps."""
    x, y = blobs(2, 80, seed=9)
    x = x + 4 * (np.arange(80) % 4 > 1)[:, None]
    posteriors, _ = shown(page, x, y, model="mixture", components=2, emSteps=steps)
    starts = page.evaluate("lab.session.fit.model.runs.map((run) => run.start)")
    table = Table(x, np.arange(2), y)
    settings = MixtureSettings(prior_rows=4.0, max_iter=steps or 500)
    data, models = MixtureRows.of(table, settings, quiet=True), []
    for k, start in enumerate(starts):
        targets = np.stack([start["psi"]] * 2)
        problem = MixtureProblem(settings, data, [k], [2], targets)
        offsets = np.array(start["means"]) - data.single.centre
        first = problem.model(np.array(start["shares"]), offsets, targets)
        models.append(problem.run([data.rows[k]], first).model)
    components = replace(
        models[0],
        log_priors=np.concatenate([model.log_priors for model in models]),
        offsets=np.concatenate([model.offsets for model in models]),
        covariances=tuple(sigma for model in models for sigma in model.covariances),
        group_of=np.arange(4),
    )
    model = MixtureModel(data.single.log_priors, components, np.repeat([0, 1], 2))
    np.testing.assert_allclose(posteriors, model.posterior(grid()), **CLOSE)
    best = page.evaluate("lab.session.fit.model.runs.map((run) => run.objectives)")
    assert all(np.all(np.diff(each) > -1e-9) for each in best)


@pytest.mark.parametrize("name", ["lda", "qda", "spherical", "logistic"])
def test_one_feature(page, name):
    x, y = blobs(2, seed=10)
    x = x[:, :1]
    made = (
        sf.LogisticRegression(1)
        if name == "logistic"
        else sf.GaussianClassifier(**GAUSSIANS[name][1])
    )
    posteriors, _ = shown(page, x, y, dimension=1, model=name, l2=1)
    np.testing.assert_allclose(posteriors, made.fit(x, y).predict_proba(grid(1)), **CLOSE)


def test_what_each_feature_adds(page):
    x, y = blobs(3, seed=11)
    fit = sf.QDA().fit(x, y)
    shown(page, x, y, model="qda")
    rows = np.vstack([x[5], x.mean(0)])
    explained = ExplainedModel(fit, rows, fit.classes_)
    ours = contributions(explained, np.array([[0, 1]]), np.array([[2, 0]]), [[0], [1]])
    code = "lab.contributions(lab.session.fit.model, {}, {}, 2, 0, 1)"
    told = page.evaluate(code.format(*map(json.dumps, rows.tolist())))
    np.testing.assert_allclose(told, ours[0, 1:], **CLOSE)  # the first is where the row starts
