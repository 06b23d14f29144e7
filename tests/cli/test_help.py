"""The help of every command: one line each in the group, examples that run."""

import importlib.util
import json
import re
import shutil
from pathlib import Path

import click
import polars as pl
import pytest

import suffice as sf
from suffice import datasets
from suffice.cli.group import COMMANDS, SECTIONS, suffice
from suffice.cli.options import SECTIONS as OPTION_SECTIONS

_HELPER = Path(__file__).parent.parent / "docs" / "pages.py"
_SPEC = importlib.util.spec_from_file_location("pages", _HELPER)
pages = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(pages)

HEADS = {f"{title}:" for title in OPTION_SECTIONS}
ELSEWHERE = ("tcp://", "~/", "postgresql://")  # what a test has not: clusters, homes, servers


def command(name):
    return suffice.get_command(None, name)


def examples(name):
    return [line.strip() for line in command(name).epilog.splitlines()[2:]]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_in_the_group_is_the_first_of_the_command(name):
    first = command(name).help.split("\n\n")[0].replace("\n", " ")
    (line,) = (section[name] for section in SECTIONS.values() if name in section)
    assert first == line


def test_the_group_lists_every_command_in_its_section(ok):
    text = ok("--help")
    for title, commands in SECTIONS.items():
        section = text.split(f"\n{title}:\n")[1].split("\n\n")[0]
        assert re.findall(r"^  (\S+) ", section, flags=re.M) == list(commands)


def commands_with_options():
    for name in COMMANDS:
        yield from command(name).commands.values() if name == "store" else [command(name)]


def test_options_are_listed_in_sections_with_whole_phrases():
    for each in commands_with_options():
        text = each.get_help(click.Context(each))
        titles = [line[:-1] for line in text.splitlines() if line in HEADS]
        assert titles == [title for title in OPTION_SECTIONS if title in titles], each.name
        assert "Output" in titles
        for param in each.params:
            if isinstance(param, click.Option):
                assert param.help[0].isupper(), param.name
                assert param.help.endswith("."), param.name


@pytest.mark.parametrize("each", [suffice, *commands_with_options()], ids=lambda c: c.name)
def test_help_is_at_most_80_columns_wide(each):
    text = each.get_help(click.Context(each, terminal_width=80))
    assert [line for line in text.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_examples(name, ok):
    text = re.sub(r" \\\n +", " ", ok(name, "--help"))  # lines that go on
    assert "Examples:" in text
    assert all(f"  {example}\n" in text for example in examples(name))
    assert examples(name)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make the files that the examples speak of, once."""
    folder = tmp_path_factory.mktemp("files")
    iris = datasets.load("iris").frame().with_row_index("customer")
    iris = iris.with_columns(customer="c" + iris["customer"].cast(str))
    for name in ("site-a", "new", "data"):
        (folder / name).mkdir()
    rows = iris.drop("customer").rename({"species": "label"})
    rows.write_parquet(folder / "site-a/1.parquet")
    rows.rename({"label": "y"}).write_parquet(folder / "data/1.parquet")
    rows.write_csv(folder / "rows.csv")
    iris.drop("species").write_parquet(folder / "new/1.parquet")
    iris.drop("species").write_csv(folder / "new.csv")
    iris[:10].drop("customer").write_csv(folder / "withdrawn.csv")
    sales = iris.with_columns(churned=pl.col("species") == "setosa").drop(
        "species", "customer"
    )
    sales.write_parquet(folder / "sales.parquet")
    sums = sf.summarize("iris")
    for name in ("iris", "model"):
        sf.LDA().fit_moments(sums).save(folder / f"{name}.suffice")
    for name in ("site-a", "site-b"):
        sums.save(folder / f"{name}.moments")
    (sums + sums).save(folder / "all.moments")
    make_private_files(folder, iris.drop("customer"))
    reviews = pl.DataFrame({"review": ["free cash", "tea now"], "label": ["spam", "ham"]})
    reviews.write_csv(folder / "reviews.csv")
    return folder


def make_private_files(folder, rows):
    """Make exact sums, a receipt, keys and masked sums."""
    exact = sf.summarize(rows, "species", exact="auto")
    exact.save(folder / "exact.moments")
    grid = exact.exact.grid
    (folder / "grid.json").write_text(json.dumps(grid.to_json()))
    removed = sf.summarize(rows[:10], "species", columns=exact.feature_names, exact=grid)
    left = exact - removed
    left.save(folder / "left.moments")
    sf.privacy.Receipt.of(exact, removed, left).save(folder / "receipt.json")
    rows[10:].write_csv(folder / "remaining.csv")
    keys = {party: sf.privacy.PrivateKey.generate() for party in "abc"}
    public = {party: key.public for party, key in keys.items()}
    (folder / "peers.json").write_text(json.dumps(public))
    for party, key in keys.items():
        key.save(folder / f"{party}.key")
        peers = {name: text for name, text in public.items() if name != party}
        masked = sf.privacy.mask(exact, party=party, key=key, peers=peers, round="2026-11")
        sf.privacy.save_masked(masked, folder / f"{party}.masked")


@pytest.fixture
def files(made, tmp_path, monkeypatch):
    """Give each test files of its own."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "name", [n for n in COMMANDS if n not in ("report", "compare", "lab", "warm-up")]
)
def test_the_examples_of_a_command_run(name, files):
    for example in examples(name):
        if not any(mark in example for mark in ELSEWHERE):
            pages.run_command(example, "", f"suffice {name} --help")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_first_example_of_a_report_runs(files):
    pages.run_command("suffice report iris --cv 3 -q", "", "suffice report --help")
    assert Path("report-iris.html").stat().st_size > 100_000


@pytest.mark.filterwarnings("ignore")
def test_the_examples_of_a_comparison_run(files):
    pages.run_command(
        "suffice compare wine --cv 3 -m lda -m qda", "", "suffice compare --help"
    )
