"""The command line, run in a folder of its own."""

import json

import pytest
from click.testing import CliRunner

from suffice.cli.group import suffice


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs ``suffice`` with arguments, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*args, stdin=None):
        return CliRunner().invoke(suffice, [str(arg) for arg in args], input=stdin)

    return run


@pytest.fixture
def ok(run):
    """Return a function that runs ``suffice``, expects success and returns what it printed."""

    def ok(*args, stdin=None):
        result = run(*args, stdin=stdin)
        assert result.exit_code == 0, result.stderr
        return result.stdout

    return ok


@pytest.fixture
def ok_json(ok):
    return lambda *args: json.loads(ok(*args, "--json"))


@pytest.fixture
def refused(run):
    """Return a function that runs ``suffice`` and returns the one line of its error."""

    def refused(*args, stdin=None, code=1):
        result = run(*args, stdin=stdin)
        assert result.exit_code == code, (result.exit_code, result.stdout, result.stderr)
        lines = [line for line in result.stderr.splitlines() if not line.startswith("note: ")]
        assert "Traceback" not in result.stderr
        if code == 1:
            assert len(lines) == 1, result.stderr
        return lines[-1]

    return refused
