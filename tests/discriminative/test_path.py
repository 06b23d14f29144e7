import matplotlib as mpl
import numpy as np
import pytest

from suffice.discriminative.descent import DescentPath, descend
from suffice.errors import InvalidParameterError
from suffice.estimators.logistic import LogisticRegression
from suffice.estimators.perceptron import Perceptron
from suffice.lectures import GradientDescent, NewtonDescent, PerceptronLearning

mpl.use("Agg")


@pytest.fixture
def hours(table):
    X, y, _ = table("hours")
    return X, y


@pytest.fixture
def path(hours):
    recorded = GradientDescent("gd", start="zero", record=True)
    return LogisticRegression(l2=0, solver=recorded).fit(*hours).path_


@pytest.fixture
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.parametrize(
    "solver",
    [
        NewtonDescent("newton", start="zero", record=True),
        NewtonDescent("quasi-newton", start="zero", record=True),
        GradientDescent("gd", start="zero", record=True),
        GradientDescent("averaged-sgd", start="zero", record=True),
    ],
)
def test_every_solver_records_its_path_in_original_units(hours, solver):
    fit = LogisticRegression(l2=0, solver=solver).fit(*hours)
    path = fit.path_
    assert len(path) == fit.n_iter_ + 1 == len(path.parameters) == len(path.step_sizes)
    assert path.names == ("intercept", "x0")
    assert path.losses[0] == pytest.approx(20 * np.log(2))
    assert path.losses[-1] == pytest.approx(8.0298784643446748, abs=1e-3)
    np.testing.assert_allclose(
        path.parameters[-1], [fit.intercept_[0], fit.coef_[0, 0]], atol=1e-3
    )
    # the loss that can be drawn is the loss that was walked on
    np.testing.assert_allclose(
        [path.loss(row) for row in path.parameters], path.losses, rtol=1e-12
    )


def test_a_path_of_three_classes_names_class_and_term(iris):
    path = LogisticRegression(solver=NewtonDescent(record=True)).fit(*iris).path_
    assert path.names[:2] == ("setosa: intercept", "setosa: x0")
    assert path.parameters.shape == (len(path), 15)
    np.testing.assert_allclose(
        [path.loss(row) for row in path.parameters], path.losses, rtol=1e-12
    )
    np.testing.assert_allclose(path.parameters.reshape(-1, 3, 5).sum(1), 0, atol=1e-9)


def test_a_perceptron_records_every_pass(iris):
    learning = PerceptronLearning(record=True)
    fit = Perceptron(learning=learning).fit(iris[0][:100], iris[1][:100])
    path = fit.path_
    assert len(path) == fit.n_passes_ + 1
    assert path.losses[-1] == 0
    np.testing.assert_allclose(
        [path.loss(row) for row in path.parameters], path.losses, rtol=1e-12
    )


def test_no_path_is_kept_unless_asked_for(hours):
    assert LogisticRegression().fit(*hours).path_ is None


def test_a_path_is_a_frame(path):
    frame = path.to_frame()
    assert frame.columns.tolist() == ["loss", "gradient_norm", "step_size", "intercept", "x0"]
    assert frame.index.name == "step"
    assert len(frame) == len(path)


def test_a_figure_shows_loss_gradient_and_way(path, close_figures):
    figure = path.plot()
    loss, slope, ground = figure.axes
    assert (loss.get_ylabel(), slope.get_ylabel()) == ("loss", "gradient norm")
    assert (ground.get_xlabel(), ground.get_ylabel()) == ("intercept", "x0")
    np.testing.assert_array_equal(ground.lines[0].get_xydata(), path.parameters)
    other = path.plot(("x0", 0)).axes[2]
    assert (other.get_xlabel(), other.get_ylabel()) == ("x0", "intercept")


def test_a_single_parameter_is_drawn_as_a_curve(close_figures):
    path = descend(lambda w: w[0] ** 2, lambda w: 2 * w, [1.0], names=["weight"])
    ground = path.plot().axes[2]
    assert (ground.get_xlabel(), ground.get_ylabel()) == ("weight", "loss")


@pytest.mark.parametrize("parameters", [("x0", "x0"), ("x0", "length"), (0, 5)])
def test_unknown_or_equal_parameters_cannot_be_drawn(path, parameters):
    with pytest.raises(InvalidParameterError, match="intercept"):
        path.plot(parameters)


def test_animations_can_be_written(path, tmp_path, close_figures):
    path.animate(n_frames=3).save(tmp_path / "way.gif", "pillow")
    assert (tmp_path / "way.gif").read_bytes()[:6] == b"GIF89a"


def test_descent_on_a_convex_loss_forgets_its_start_and_on_another_does_not():
    bowl, valley = (lambda w: w @ w), (lambda w: float((w[0] ** 2 - 1) ** 2))
    ends = [descend(bowl, lambda w: 2 * w, [s]).parameters[-1, 0] for s in (-3.0, 3.0)]
    np.testing.assert_allclose(ends, 0, atol=1e-6)
    slope = lambda w: 4 * w * (w**2 - 1)  # noqa: E731
    ends = [descend(valley, slope, [s]).parameters[-1, 0] for s in (-0.1, 0.1)]
    np.testing.assert_allclose(ends, [-1, 1], atol=1e-6)


def test_too_large_a_step_climbs_and_ends_where_the_loss_is_not_finite():
    path = descend(lambda w: w @ w, lambda w: 2 * w, [1.0], learning_rate=30.0, n_steps=1000)
    assert isinstance(path, DescentPath)
    assert (np.diff(path.losses) > 0).all()
    assert len(path) < 1000
    assert np.isfinite(path.losses).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_rate": 0.0}, "learning_rate must be positive"),
        ({"start": [np.inf]}, "finite"),
    ],
)
def test_descend_refuses_what_cannot_be_walked(settings, message):
    settings = {"start": [1.0], "learning_rate": 0.1} | settings
    with pytest.raises(InvalidParameterError, match=message):
        descend(lambda w: w @ w, lambda w: 2 * w, **settings)
