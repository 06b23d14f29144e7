"""The steps of the lessons through the lab: each sets what it says, and scrolling shows it."""

import functools
import re
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from docs.__main__ import stage, with_scenes

from suffice.present.lab import page as lab_page

ROOT = Path(__file__).parents[2]
LESSONS = sorted((ROOT / "docs" / "course").glob("[0-9]*.md"))
_STEP = re.compile(
    r"^\d\. \[[^]]+\]\(\.\./lab\.md\?(scene=[^)]+)\)\. .* <!-- shown: (.*) -->$", re.MULTILINE
)
SHOWN = """["#told", "#said", "#descent-said"].map((id) =>
  [...document.querySelectorAll(`${id}, ${id} tr`)].map((e) =>
    [...e.children].map((c) => c.textContent).join(": ") || e.textContent).join(" | ")
).join(" | ")"""


def steps_of(lesson):
    """Return (address, texts that the lab then shows) for each step of a lesson."""
    found = _STEP.findall(lesson.read_text())
    return [(address, shown.split(" ; ")) for address, shown in found]


def test_every_lesson_leads_through_the_lab():
    assert len(LESSONS) == 12
    for lesson in LESSONS:
        section = lesson.read_text().split("## In the lab\n")[1].split("\n## ")[0]
        n_items = len(re.findall(r"^\d\. ", section, re.MULTILINE))
        assert len(steps_of(lesson)) == n_items >= 3, lesson.name


def test_the_site_frames_the_lab_beside_the_steps(tmp_path):
    staged = stage(tmp_path / "staged")
    for lesson in LESSONS:
        text = (staged / "course" / lesson.name).read_text()
        assert text.count('<div class="walk"') == 1, lesson.name
        first = steps_of(lesson)[0][0].split("&")[0]
        assert f'src="../lab.html#{first}"' in text, lesson.name
    plain = with_scenes("## In the lab\n\nNothing to try here.\n", 1)
    assert "walk" not in plain


def test_the_first_page_shows_the_report_itself_where_there_is_one(tmp_path):
    staged = stage(tmp_path / "staged", report="<!doctype html>")
    assert (
        '<iframe class="report" title="A report" src="report.html">'
        in (staged / "index.md").read_text()
    )
    assert (staged / "report.html").exists()


@pytest.fixture(scope="module")
def lab(browser, tmp_path_factory):
    """The lab as a file, in a tab whose console stays clean."""
    path = tmp_path_factory.mktemp("lab") / "lab.html"
    path.write_text(lab_page(), encoding="utf-8")
    tab = browser.page()
    tab.size(900, 2000)
    tab.address = path.as_uri()
    yield tab
    assert tab.console == []


def settled(tab):
    """Wait until the page has painted."""
    tab.evaluate(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.stem)
def test_the_lab_shows_what_each_step_says(lab, lesson):
    lab.front()
    for address, texts in steps_of(lesson):
        lab.open(f"{lab.address}#{address}")
        settled(lab)
        shown = lab.evaluate(SHOWN)
        assert "cannot be read" not in shown, address
        for text in texts:
            assert text in shown, (address, text, shown)


@pytest.mark.slow
@pytest.mark.browser
def test_an_address_names_settings_one_by_one_or_is_refused(lab):
    lab.front()
    lab.open(f"{lab.address}#scene=generative&n=30&priors.1=0.4&model=qda&show.samples=false")
    state = lab.evaluate("lab.session.state")
    assert len(state["points"]) == 30
    assert state["priors"][1] == 0.4
    assert state["stated"] is True
    assert state["model"] == "qda"
    assert state["show"] == {
        "boundary": True,
        "ellipses": True,
        "samples": False,
        "errors": True,
        "normal": False,
        "lines": False,
    }
    for broken in ("nothing=3", "k=many", "priors.9.1=3", "model=3"):
        lab.open(f"{lab.address}#scene=generative&{broken}")
        assert "cannot be read" in lab.evaluate("document.querySelector('#said').textContent")
        assert lab.evaluate("lab.session.state.n") == 150


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture(scope="module")
def walk_page(browser, tmp_path_factory):
    """A page with the markup of a lesson's steps, the site's own script and style, and the lab."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "lab.html").write_text(lab_page(), encoding="utf-8")
    for name in ("site.js", "site.css"):
        (folder / name).write_text((ROOT / "docs" / name).read_text())
    steps = "".join(
        f'<li><a href="lab.html#scene=softmax&temperature={t}">T = {t}</a>. Words.</li>'
        for t in (1, 0.5, 10)
    )
    (folder / "index.html").write_text(
        '<!doctype html><link rel="icon" href="data:,"><link rel="stylesheet" href="site.css">'
        '<body data-md-color-scheme="default" class="md-typeset"><div style="height:90vh"></div>'
        f'<div class="walk"><div class="steps"><ol>{steps}</ol></div>'
        '<iframe class="lab" title="The lab" src="lab.html#scene=softmax"></iframe></div>'
        '<div style="height:200vh"></div><script src="site.js"></script>'
    )
    handler = functools.partial(Quiet, directory=folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    tab = browser.page()
    tab.size(1280, 800)
    tab.front()
    tab.open(f"http://127.0.0.1:{server.server_port}/")
    tab.until("frames[0].lab !== undefined")
    yield tab
    assert tab.console == []
    server.shutdown()
    server.server_close()


TEMPERATURE = "frames[0].lab?.session.state.temperature"


@pytest.mark.slow
@pytest.mark.browser
def test_scrolling_and_clicking_set_the_scene(walk_page):
    tab = walk_page
    tab.front()
    depth = tab.evaluate("history.length")
    tab.until(f"{TEMPERATURE} === 1")
    for i, temperature in [(1, 0.5), (2, 10), (1, 0.5), (0, 1)]:
        tab.evaluate(
            f"document.querySelectorAll('li')[{i}].scrollIntoView({{block: 'center'}})"
        )
        tab.until(f"{TEMPERATURE} === {temperature}")
        assert tab.evaluate(f"document.querySelectorAll('li')[{i}].className") == "shown"
    tab.evaluate("document.querySelectorAll('li a')[2].click()")
    tab.until(f"{TEMPERATURE} === 10")
    # what the reader has changed is undone by a second click
    tab.evaluate("frames[0].lab.change({ temperature: 3 })")
    tab.evaluate("document.querySelectorAll('li a')[2].click()")
    tab.until(f"{TEMPERATURE} === 10")
    assert tab.evaluate("history.length") == depth


@pytest.mark.slow
@pytest.mark.browser
def test_the_framed_lab_is_light_or_dark_as_the_page(walk_page):
    tab = walk_page
    tab.front()
    theme = "frames[0].document.documentElement.dataset.theme"
    tab.until(f"{theme} === 'light'")
    tab.evaluate("document.body.dataset.mdColorScheme = 'slate'")
    tab.until(f"{theme} === 'dark'")
    tab.evaluate("document.body.dataset.mdColorScheme = 'default'")
    tab.until(f"{theme} === 'light'")
    hidden = tab.evaluate(
        "getComputedStyle(frames[0].document.querySelector('header')).display"
    )
    assert hidden == "none"
