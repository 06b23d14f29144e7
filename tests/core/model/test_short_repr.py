"""What an editor or a notebook prints of large results is short."""

import numpy as np
import pytest

import suffice as sf


@pytest.fixture
def wide():
    x = np.random.default_rng(0).normal(size=(500, 60))
    return x, (x[:, 0] > 0).astype(int)


@pytest.mark.parametrize("kind", [sf.LDA, sf.QDA])
def test_boundaries_and_models_of_many_features_print_one_short_line(wide, kind):
    fitted = kind().fit(*wide)
    for result in (fitted.boundary(0, 1), fitted.model_):
        assert len(repr(result)) < 100
        assert "60 features" in repr(result)


def test_a_small_boundary_prints_its_equation_and_its_sides():
    plane = sf.Hyperplane([3.0, -4.0], 10.0, ("length", "width"), ("bass", "salmon"))
    assert repr(plane) == "Hyperplane('bass' | 'salmon': 3·length − 4·width + 10 = 0)"
    assert repr(sf.Hyperplane([1.0], -2.0)) == "Hyperplane(x − 2 = 0)"


def test_a_classifier_prints_its_size_and_its_model(iris):
    assert (
        repr(sf.LDA().fit(*iris).model_) == "Classifier(3 classes × 4 features, GaussianModel)"
    )


def test_the_recommended_row_of_a_comparison_is_marked(iris):
    result = sf.compare(*iris, ["tree", "LDA"], cv=3)
    marked = result._repr_html_().split('class="best"')[1].split("</tr>")[0]
    assert f"<td>{result.reference}</td>" in marked
