"""The example with Flower: masked sums of 100 skewed clients are those of all their rows.

Flower pins packages that others need in newer versions. ``.ci/run`` installs it into a folder of
its own and runs this file with it.
"""

import importlib.util
from pathlib import Path

import pytest

from suffice.errors import InvalidInputError

_EXAMPLE = Path(__file__).parents[2] / "examples" / "flower_round.py"


@pytest.fixture(scope="module")
def example():
    """Return the example as a module."""
    pytest.importorskip("flwr", reason="the example needs Flower: pip install flwr")
    pytest.importorskip("cryptography", reason="masks need suffice[privacy]")
    spec = importlib.util.spec_from_file_location("flower_round", _EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Flower and its dependencies
def test_one_round_of_a_hundred_clients_equals_pooling_bit_for_bit(example):
    total, n_bytes = example.run_round(example.LocalGrid(range(100)), "round 1")
    assert total.digest() == example.pooled().digest()
    # 16 bytes a number: counts, weights, sums and products of 3 classes × 4 features
    n_numbers = 3 + 3 + 3 * 4 + 3 * 10
    assert n_bytes >= 100 * 16 * n_numbers


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_client_that_does_not_answer_stops_the_round(example):
    grid = example.LocalGrid(range(5))
    answers = grid.ask

    def ask(question):
        replies = answers(question)
        return replies[:-1] if question["wanted"] == "masked sums" else replies

    grid.ask = ask
    with pytest.raises(InvalidInputError, match="'client 004' sent no sums"):
        example.run_round(grid, "round 1")
