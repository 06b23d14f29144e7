"""Progress: nothing under a second, a bar on a terminal, the speed at the end."""

import io
import itertools

import pytest

from suffice.cli.terminal import Terminal
from suffice.core import progress as meter


class Screen(io.StringIO):
    """A standard error that is a terminal, or not."""

    def __init__(self, tty):
        super().__init__()
        self._tty = tty

    def isatty(self):
        return self._tty


@pytest.fixture
def told(monkeypatch):
    """Return a function that runs a command of that many seconds and returns what it said."""

    def told(seconds, *, tty=False, rows=50_000, total=None, **options):
        screen = Screen(tty)
        ticks = itertools.chain([0.0], itertools.repeat(seconds))
        monkeypatch.setattr(meter.time, "perf_counter", lambda: next(ticks))
        monkeypatch.setattr("sys.stderr", screen)
        monkeypatch.setenv("TERM", "xterm")
        with Terminal(**options).progress("rows") as running:
            running(rows, total)
        return screen.getvalue()

    return told


def test_a_quick_command_says_nothing(told):
    assert told(0.5) == ""
    assert told(0.5, tty=True) == ""


def test_a_longer_command_says_its_speed(told):
    assert "50,000 rows in 2.0 s, 25,000 rows/s" in told(2.0)


def test_a_terminal_shows_a_bar(told):
    text = told(2.0, tty=True, total=100_000)
    assert "50000/100000" in text
    assert "25,000 rows/s" in text


def test_few_rows_have_no_speed(told):
    assert told(2.0, rows=10) == ""


def test_quiet_has_neither(told):
    assert told(2.0, tty=True, quiet=True) == ""


@pytest.mark.parametrize("quiet", [False, True])
def test_work_of_unknown_length_is_shown_with_its_time(monkeypatch, quiet):
    screen = Screen(tty=True)
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with Terminal(quiet=quiet).working("fitting AutoGaussian"):
        pass
    shown = screen.getvalue()
    assert ("fitting AutoGaussian" in shown and "0:00:00" in shown) is not quiet


def test_a_fit_shows_that_it_works(ok, monkeypatch):
    shown = []
    working = Terminal.working
    monkeypatch.setattr(
        Terminal, "working", lambda self, what: shown.append(what) or working(self, what)
    )
    ok("fit", "iris", "-m", "rda", "-o", "m.suffice")
    assert shown == ["fitting RDA"]
