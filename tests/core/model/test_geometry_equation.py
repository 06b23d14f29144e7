import numpy as np
import pytest

from suffice import LDA, QDA, datasets
from suffice.core.model.geometry.hyperplane import Hyperplane
from suffice.core.model.geometry.quadric import Quadric
from suffice.errors import InvalidParameterError


def test_signs_zeros_and_units_are_written_as_by_hand():
    plane = Hyperplane([1.23, -0.5, 0.0], 3.1, ("petal_width", "sepal_length", "noise"))
    assert plane.equation() == "1.23·petal_width − 0.5·sepal_length + 3.1 = 0"
    assert Hyperplane([-1.0, 1.0], 0.0).equation() == "−x₁ + x₂ = 0"
    assert Hyperplane([0.0], 0.0).equation() == "0 = 0"
    assert Hyperplane([0.0], -2.0).equation() == "−2 = 0"


def test_digits_are_significant_digits():
    plane = Hyperplane([123.456], -0.00123456)
    assert plane.equation(2) == "120·x − 0.0012 = 0"
    assert plane.equation(8) == "123.456·x − 0.00123456 = 0"
    with pytest.raises(InvalidParameterError, match="digits must be at least 1, got 0"):
        plane.equation(0)


def test_very_large_and_small_numbers_are_powers_of_ten():
    plane = Hyperplane([1.2341e-9, -2e9], 0.0)
    assert plane.equation() == "1.234×10⁻⁹·x₁ − 2×10⁹·x₂ = 0"
    assert plane.latex() == r"1.234\times 10^{-9}\,x_{1} - 2\times 10^{9}\,x_{2} = 0"


def test_a_quadric_is_written_with_its_squares_and_products():
    q = Quadric([[0.5, -0.6], [-0.6, 2.0]], [3.0, -4.0], 1.0, ("x", "y"))
    assert q.equation() == "0.5·x² − 1.2·x·y + 2·y² + 3·x − 4·y + 1 = 0"
    line = Quadric(np.zeros((2, 2)), [3.0, -4.0], 1.0, ("x", "y"))
    assert line.equation() == "3·x − 4·y + 1 = 0"


def test_names_of_several_words_stay_readable():
    q = Quadric([[2.0]], [1.0], 0.0, ("petal width (cm)",))
    assert q.equation() == "2·(petal width (cm))² + petal width (cm) = 0"
    assert q.latex() == (
        r"2\,\mathrm{petal\ width\ (cm)}^{2} + \mathrm{petal\ width\ (cm)} = 0"
    )
    assert r"\mathrm{a\_b}" in Hyperplane([1.0], 0.0, ("a_b",)).latex()


def test_an_equation_is_written_about_the_origin_whatever_the_anchor():
    assert Hyperplane.about([3.0], [2.0], 0.5).equation() == "2·x − 5.5 = 0"


def test_the_equation_written_is_the_one_evaluated():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(2, 2))
    q = Quadric.about(rng.normal(size=2), A + A.T, rng.normal(size=2), 0.7, ("u", "v"))
    text = q.equation(15).removesuffix(" = 0")
    text = text.replace("−", "-").replace("·", "*").replace("²", "**2")
    x = rng.normal(size=(6, 2))
    values = [eval(text, {"u": u, "v": v}) for u, v in x]
    np.testing.assert_allclose(values, q.evaluate(x), rtol=1e-10)


def test_latex_is_accepted_by_a_renderer():
    mathtext = pytest.importorskip("matplotlib.mathtext")
    q = Quadric([[1e-9, 0.5], [0.5, 2.0]], [1.0, 0.0], -3.0, ("petal width (cm)", "a_b%"))
    mathtext.MathTextParser("path").parse(f"${q.latex()}$")


def test_the_coefficients_of_a_fitted_boundary_are_those_of_the_printed_equation():
    X, y = datasets.load("iris").arrays()
    petals = X[:, 2:]
    x = np.array([5.0, 1.7])
    q = QDA().fit(petals, y).boundary("versicolor", "virginica")
    assert x @ q.A @ x + q.b @ x + q.c == pytest.approx(q.evaluate(x)[0], abs=1e-11)
    assert q.equation(3).endswith(
        f"{np.sign(q.c):+.0f}"[0].replace("-", "−") + f" {abs(q.c):.1f} = 0"
    )
    h = LDA().fit(petals, y).boundary("versicolor", "virginica")
    assert h.w @ x + h.w_0 == pytest.approx(h.evaluate(x)[0], abs=1e-11)
    assert h.distance_of_origin == pytest.approx(-h.w_0 / np.linalg.norm(h.w))
