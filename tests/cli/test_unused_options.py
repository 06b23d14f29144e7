"""An option that a command cannot use is refused by name, never dropped."""

from pathlib import Path

import pytest


@pytest.fixture(name="sums")
def _sums(ok):
    """Exact sums of all rows and of some rows, and the rows themselves."""
    ok("datasets", "iris", "-o", "iris.csv")
    lines = Path("iris.csv").read_text().splitlines()
    Path("some.csv").write_text("\n".join([lines[0], *lines[1:150:7]]) + "\n")
    Path("rest.csv").write_text(
        "\n".join(line for i, line in enumerate(lines) if i == 0 or i % 7 != 1) + "\n"
    )
    ok("grid", "iris", "-o", "grid.json")
    for name in ("iris", "some", "rest"):
        options = ("-t", "species", "--exact", "grid.json", "-o", f"{name}.moments")
        ok("summarize", f"{name}.csv", *options)


def test_the_target_of_sums_is_fixed(sums, ok, refused):
    forget = ("forget", "iris.moments", "some.moments", "-o", "left.moments")
    message = refused(*forget, "--target", "species")
    assert "some.moments holds sums, whose target is fixed: leave out --target" in message
    ok(*forget, "--receipt", "proof.json")
    verify = ("verify", "proof.json", "--from", "rest.moments")
    ok(*verify)
    assert "leave out --target" in refused(*verify, "--target", "species")
    ok(*verify, "--removed", "some.csv", "--target", "species")  # one of them holds rows


def test_outliers_need_a_density(ok, refused):
    ok("fit", "iris", "-m", "logistic", "-o", "m.suffice")
    predict = ("predict", "m.suffice", "iris", "-o", "out.csv")
    ok(*predict, "--force")
    message = refused(*predict, "--force", "--outlier-rate", "0.01")
    assert "m.suffice holds a model without densities" in message
    assert "leave out --outlier-rate" in message


@pytest.mark.parametrize("option", [("--storage", "diagonal"), ("--fourth",)])
def test_a_store_adds_sums_as_they_are(sums, refused, option):
    message = refused("store", "add", "a.store", "iris.moments", *option)
    assert f"leave out {option[0]}" in message


def test_the_number_of_a_receipt_needs_an_output(sums, ok, refused):
    ok("store", "add", "a.store", "iris.moments")
    message = refused("store", "receipts", "a.store", "--number", "1", code=2)
    assert "--number needs -o" in message


def test_a_figure_of_rows_takes_no_model(refused):
    message = refused("plot", "pairs", "iris", "-m", "qda", "-o", "pairs.png", code=2)
    assert "pairs shows rows without a model: leave out --model" in message


def test_a_list_of_datasets_has_no_output(refused):
    message = refused("datasets", "-o", "list.csv", code=2)
    assert "-o needs the name of a dataset" in message


def test_a_target_needs_a_table(refused):
    message = refused("lab", "--target", "species", code=2)
    assert "--target needs DATA" in message


def test_priors_of_a_model_without_priors_are_refused(sums, refused):
    options = ("--priors", "uniform", "-o", "m.suffice")
    for data in ("iris", "iris.moments"):
        for model in ("perceptron", "least-squares"):
            message = refused("fit", data, "-m", model, *options)
            assert "has no setting 'priors'" in message or "must be fitted to rows" in message
