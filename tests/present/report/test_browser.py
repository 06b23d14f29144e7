# ruff: noqa: E501 (scripts)
"""Reports in headless Chromium: wide and narrow, light and dark."""

import re

import numpy as np
import pandas as pd
import pytest

import suffice as sf
from suffice.core.text.numbers import percent
from suffice.present.report.blocks import Thresholds
from suffice.present.report.render import code

from .test_report import blocks

pytestmark = [pytest.mark.slow, pytest.mark.browser]

# what a reader would see of the report in a window
MEASURED = """(function () {
  function channels(colour) { return colour.match(/[\\d.]+/g).map(Number); }
  function light(c) {  // relative luminance (WCAG 2)
    var v = c.map(function (x) { x /= 255; return x <= .03928 ? x / 12.92 : Math.pow((x + .055) / 1.055, 2.4); });
    return .2126 * v[0] + .7152 * v[1] + .0722 * v[2];
  }
  function over(view, e) {  // what is painted behind an element
    var c = channels(view.getComputedStyle(e).backgroundColor), a = c.length > 3 ? c[3] : 1;
    var below = a < 1 ? (e.parentElement ? over(view, e.parentElement) : [255, 255, 255]) : [0, 0, 0];
    return [0, 1, 2].map(function (i) { return a * c[i] + (1 - a) * below[i]; });
  }
  function contrast(view, e) {
    var two = [light(channels(view.getComputedStyle(e).color).slice(0, 3)), light(over(view, e))];
    return (Math.max(two[0], two[1]) + .05) / (Math.min(two[0], two[1]) + .05);
  }
  var view = window, page = document, root = page.documentElement;
  var drawings = Array.from(page.querySelectorAll("svg.plot"));
  return {
    width: view.innerWidth,
    overflow: root.scrollWidth - root.clientWidth,
    drawings: drawings.length,
    drawn: drawings.filter(function (s) {
      var box = s.getBoundingClientRect();
      return box.width > 100 && box.height > 60 && s.querySelector("path, use") && s.querySelector("text");
    }).length,
    cut: Array.from(page.querySelectorAll("table.intervals, table.dense")).filter(function (t) {
      var w = t.closest(".wide");
      return w.scrollWidth > w.clientWidth + 1 && (t.classList.contains("intervals") || root.clientWidth > 1000);
    }).length,
    overprinted: drawings.reduce(function (n, s) {
      var boxes = Array.from(s.querySelectorAll(":scope > text")).map(function (e) { return e.getBoundingClientRect(); });
      return n + boxes.filter(function (a, i) { return boxes.some(function (b, j) {
        return j < i && Math.min(a.right, b.right) - Math.max(a.left, b.left) > .5 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2;
      }); }).length;
    }, 0),
    uncued: Array.from(page.querySelectorAll(".wide")).filter(function (w) {
      return w.scrollWidth > w.clientWidth + 2 && !w.parentNode.classList.contains("more");
    }).length,
    small: Array.from(page.querySelectorAll("button, input, summary, nav a, .download a")).filter(function (e) {
      var box = e.getBoundingClientRect();
      return box.width && Math.min(box.width, box.height) < 24;
    }).length,
    nameless: Array.from(page.querySelectorAll("button")).filter(function (b) { return !b.textContent; }).length,
    faint: Array.from(page.querySelectorAll("input")).filter(function (e) {
      var edge = light(channels(view.getComputedStyle(e).borderTopColor)), ground = light(over(view, e));
      return (Math.max(edge, ground) + .05) / (Math.min(edge, ground) + .05) < 3;
    }).length,
    code: Array.from(page.querySelectorAll("pre")).filter(function (e) { return e.scrollWidth > e.clientWidth; }).length,
    letters: Math.min.apply(null, drawings.map(function (s) {
      return parseFloat(view.getComputedStyle(s.querySelector("text")).fontSize) * s.getBoundingClientRect().width / 440;
    })),
    images: Array.from(page.querySelectorAll("svg image")).filter(function (i) {
      return !i.getAttribute("xlink:href").startsWith("data:");
    }).length,
    loaded: view.performance.getEntriesByType("resource").filter(function (r) {
      return !r.name.startsWith("data:");
    }).map(function (r) { return r.name; }),
    ground: view.getComputedStyle(page.body).backgroundColor,
    words: page.body.innerText.length,
    contrast: Math.min.apply(null, Array.from(page.querySelectorAll("p, td, th, li, dt, dd, small, a, button")).map(function (e) {
      return e.getClientRects().length && e.textContent.trim() ? contrast(view, e) : 21;
    })),
    links: Array.from(page.querySelectorAll("nav a")).every(function (a) {
      return page.querySelector(a.hash);
    })
  };
})()"""


@pytest.fixture(scope="module")
def tab(browser):
    return browser.page()


@pytest.fixture(params=["iris_report", "hostile_report"])
def page(request, tmp_path):
    request.getfixturevalue(request.param).save(tmp_path / "page.html")
    return tmp_path / "page.html"


def opened(tab, page, code, width=1280, scheme="light"):
    """Return the value of a script on the page, once its console was seen to be quiet."""
    tab.console.clear()
    tab.size(width, 900, scheme)
    tab.open(page.as_uri())
    told = tab.front().evaluate(code)
    assert tab.console == []
    return told


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_page_opens_whole_and_quietly(tab, page, width, scheme):
    told = opened(tab, page, MEASURED, width, scheme)
    assert told["width"] == width
    assert told["overflow"] <= 0
    assert told["drawn"] == told["drawings"] >= 9
    assert told["uncued"] == told["overprinted"] == 0
    assert told["small"] == told["nameless"] == told["faint"] == 0
    assert told["letters"] > 10
    assert told["code"] == 0
    if "onerror" not in page.read_text():  # names as long as these need a scroll
        assert told["cut"] == 0
    assert told["images"] == 0
    assert told["loaded"] == []
    assert told["links"]
    assert told["words"] > 3000
    assert told["contrast"] >= 4.5
    assert told["ground"] == {"light": "rgb(245, 246, 248)", "dark": "rgb(18, 21, 26)"}[scheme]


# what a reader does: points, sorts, filters, selects a row, moves the slider
ACTING = """(function () {
  var view = window, page = document, told = {};
  function one(words) { return page.querySelector(words); }
  function all(words) { return Array.from(page.querySelectorAll(words)); }
  function text(id) { return page.getElementById(id).textContent; }
  function put(id, value) {
    page.getElementById(id).value = value;
    page.getElementById(id).dispatchEvent(new view.Event("input"));
  }
  var dot = one("svg.plot use[data-tip]");
  dot.dispatchEvent(new view.PointerEvent("pointermove", { bubbles: true, clientX: 300, clientY: 300 }));
  told.hover = [dot.dataset.tip, text("tip"), one("#tip").hidden];
  page.body.dispatchEvent(new view.PointerEvent("pointermove", { bubbles: true }));
  told.left = one("#tip").hidden;
  dot.dispatchEvent(new view.PointerEvent("pointerdown", { bubbles: true, clientX: 300, clientY: 300 }));
  told.touched = one("#tip").hidden ? "" : text("tip");

  var table = one("#errors tr[data-row]").closest("table");
  var head = all("#errors tr[data-row]")[0].closest("table").querySelectorAll("thead th")[3];
  function column() { return Array.from(table.tBodies[0].rows).map(function (r) { return +r.cells[3].dataset.value; }); }
  head.querySelector("button").click();
  told.up = [column(), head.getAttribute("aria-sort")];
  head.querySelector("button").click();
  told.down = [column(), head.getAttribute("aria-sort")];

  var box = table.closest(".scroll").previousElementSibling, name = table.tBodies[0].rows[2].cells[0].textContent;
  box.value = name;
  box.dispatchEvent(new view.Event("input"));
  told.filtered = Array.from(table.tBodies[0].rows).filter(function (r) { return !r.hidden; })
    .map(function (r) { return r.textContent.indexOf(name) >= 0; });
  box.value = "";
  box.dispatchEvent(new view.Event("input"));

  var drawn = all("use[data-row]").map(function (u) { return u.dataset.row; });
  var row = all("tr[data-row]").filter(function (r) { return drawn.indexOf(r.dataset.row) >= 0; })[0];
  row.click();
  told.picked = all(".picked").map(function (e) { return [e.tagName, e.dataset.row === row.dataset.row]; });
  row.click();
  told.unpicked = all(".picked").length;

  told.slider = [one("#threshold").max, "3", "60", "120"].map(function (i) {
    put("threshold", i);
    return [+i, text("t-hits"), text("t-missed"), text("t-alarms"), text("t-cost"), text("t-recall"),
      text("t-precision"), one("#f-roc .now").getAttribute("cx"), one("#f-precision .now").getAttribute("visibility")];
  });
  put("cost-miss", "20");
  told.dear = text("t-cost");
  page.getElementById("cheapest").click();
  told.cheapest = [+one("#threshold").value, text("t-cost")];
  return told;
})()"""


def test_pointing_sorting_filtering_selecting_and_sliding(tab, rare_report, tmp_path):
    rare_report.save(tmp_path / "page.html")
    told = opened(tab, tmp_path / "page.html", ACTING)
    assert told["hover"] == [told["hover"][0], told["hover"][0], False]
    assert told["left"] is True
    assert told["touched"] == told["hover"][0]
    assert told["up"] == [sorted(told["up"][0]), "ascending"]
    assert told["down"] == [sorted(told["up"][0], reverse=True), "descending"]
    assert told["filtered"]
    assert all(told["filtered"])
    kinds = [kind for kind, same in told["picked"] if same]
    assert len(kinds) == len(told["picked"])
    assert {"TR", "use"} <= set(kinds)
    assert told["unpicked"] == 0
    (slider,) = blocks(rare_report, Thresholds)
    assert told["slider"][0][1:4:2] == [
        "0",
        "0",
    ]  # from the last threshold on nothing is called
    for i, hits, missed, alarms, cost, recall, precision, x, seen in told["slider"]:
        found, false = slider.hits[i], slider.false_alarms[i]
        assert (float(hits), float(missed), float(alarms)) == (
            found,
            slider.n_positive - found,
            false,
        )
        assert float(cost) == slider.n_positive - found + false
        assert recall == percent(found / slider.n_positive)
        assert precision == (percent(found / (found + false)) if found + false else "–")
        assert seen == ("visible" if found + false else "hidden")
        assert float(x) == pytest.approx(54 + 374 * false / slider.n_negative)
    costs = 20 * (slider.n_positive - np.array(slider.hits)) + np.array(slider.false_alarms)
    assert float(told["dear"]) == costs[120]
    at, least = told["cheapest"]
    assert costs[at] == costs.min() == float(least)


def test_print_is_dark_on_white_with_heads_of_tables_and_nothing_cut_off(
    browser, many_report, tmp_path
):
    many_report.save(tmp_path / "page.html")
    page = browser.page()
    page.size(720, 1000)
    page.open((tmp_path / "page.html").as_uri())
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    page.call("Emulation.setEmulatedMedia", media="print", features=dark)
    shown = "Array.from(document.querySelectorAll('{}')).filter(e => e.offsetWidth).length"
    assert (
        page.evaluate("getComputedStyle(document.body).backgroundColor")
        == "rgb(255, 255, 255)"
    )
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    box = page.evaluate("getComputedStyle(document.querySelector('p.answer')).backgroundColor")
    assert min(map(int, re.findall(r"\d+", box))) > 200
    assert page.evaluate(shown.format("table.data thead th")) > 10
    button = "getComputedStyle(document.querySelector('table.data th button')).display"
    assert (
        page.evaluate(button) == "contents"
    )  # Chromium repeats text on the next sheet, no button
    assert page.evaluate(shown.format("input, nav, .copy, .save")) == 0
    assert page.evaluate(shown.format("ul.checks li")) > 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 720
    broken = "getComputedStyle(document.querySelector('{}')).breakInside"
    assert page.evaluate(broken.format("details.fold > summary")) == "avoid"
    # a heading of a folded section looks like the others, and its text follows on the same sheet
    after = "getComputedStyle(document.querySelector('details.section > summary')).breakAfter"
    assert page.evaluate(after) == "avoid"
    head = (
        "JSON.stringify(['color', 'fontSize'].map("
        "name => getComputedStyle(document.querySelector('{}'))[name]))"
    )
    folded = page.evaluate(head.format("details.section > summary h2"))
    assert folded == page.evaluate(head.format("section > h2"))


def test_short_words_of_headings_are_not_broken(browser, tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 60)
    X = rng.normal(size=(180, 6)) + (y == "a")[:, None] - (y == "b")[:, None]
    names = ["ash", "alcalinity", "magnesium", "hue", "length_mm", "flavanoids"]
    report = sf.report(pd.DataFrame(X, columns=names), y, models=["LDA"], cv=3)
    report.save(tmp_path / "page.html")
    page = browser.page()
    page.size(688, 1000)  # the width of a sheet of paper within its margins
    page.open((tmp_path / "page.html").as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    page.call("Emulation.setEmulatedMedia", media="print")
    heads = "Array.from(document.querySelectorAll('table.dense thead th'), e => e.innerText)"
    assert "+\N{NO-BREAK SPACE}alcalinity" in page.evaluate(heads)
    whole = "Array.from(document.querySelectorAll('table.dense thead th')).filter({}).length"
    assert (
        page.evaluate(whole.format("e => getComputedStyle(e).overflowWrap == 'anywhere'")) == 0
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 688


def test_headings_of_many_columns_stand_upright_on_paper(browser, tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 60)
    X = rng.normal(size=(120, 12)) + (y == "a")[:, None]
    columns = [f"measurement{j}" for j in range(12)]
    report = sf.report(pd.DataFrame(X, columns=columns), y, models=["LDA"], cv=3, fast=True)
    report.save(tmp_path / "page.html")
    page = browser.page()
    page.size(688, 1000)
    page.open((tmp_path / "page.html").as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    page.call("Emulation.setEmulatedMedia", media="print")
    heights = (
        "Array.from(document.querySelectorAll('table.dense.tight thead th'))"
        ".filter(e => e.innerText.includes('measurement')).map(e => {"
        " const box = e.getBoundingClientRect(); return box.height / box.width; })"
    )
    told = page.evaluate(heights)
    assert min(told) > 2, told
    assert page.evaluate("document.documentElement.scrollWidth") <= 688


def test_an_option_of_a_command_stays_on_one_line_and_code_is_escaped():
    assert code("suffice sample <a> -n 9") == (
        'suffice sample &lt;a&gt; <span class="whole">-n</span> 9'
    )


def test_an_option_in_a_sentence_stays_on_one_line(iris_report):
    page = iris_report.write("html")
    assert 'suffice report <span class="whole">--against</span>' in page
    assert "suffice report --against" in iris_report.write("md")


def test_numbers_of_small_drawings_are_large_enough_to_read(browser, many_report, tmp_path):
    many_report.save(tmp_path / "page.html")
    page = browser.page()
    page.size(1280, 900)
    page.open((tmp_path / "page.html").as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    heights = (
        "Array.from(document.querySelectorAll('.multiples svg.plot text'))"
        ".filter(e => e.getClientRects().length).map(e => parseFloat(getComputedStyle(e).fontSize) * Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b))"
    )
    told = page.evaluate(heights)
    assert told
    assert min(told) > 10


def test_on_a_phone_the_section_that_is_read_is_in_sight_above(browser, iris_report, tmp_path):
    iris_report.save(tmp_path / "page.html")
    page = browser.page()
    page.size(390, 800)
    page.open((tmp_path / "page.html").as_uri())
    page.front()
    inside = (
        "(function (a, list) { return a.hash === '#errors' && a.left >= list.left && "
        "a.right <= list.right; })(Object.assign({hash: document.querySelector('nav a[aria-current]').hash}, "
        "document.querySelector('nav a[aria-current]').getBoundingClientRect().toJSON()), "
        "document.querySelector('nav ol').getBoundingClientRect())"
    )
    page.evaluate("document.querySelector('#errors').scrollIntoView({ behavior: 'instant' })")
    page.until(inside)


def test_every_control_shows_that_it_has_the_focus_and_figures_are_saved_by_keyboard(
    browser, rare_report, tmp_path
):
    rare_report.save(tmp_path / "page.html")
    page = browser.page()
    page.size(1280, 900)
    page.open((tmp_path / "page.html").as_uri())
    page.front().press("Tab")
    unseen = (
        "Array.from(document.querySelectorAll('a, button, input, summary, tr[tabindex], "
        '[tabindex="0"]\')).filter(function (e) { e.focus({ preventScroll: true }); '
        "var look = getComputedStyle(e); return e.checkVisibility() && (document.activeElement !== e "
        "|| parseFloat(look.outlineWidth) < 2 || look.outlineStyle !== 'solid' || look.opacity < 1); "
        "}).length"
    )
    assert page.evaluate(unseen) == 0
    saves = (
        "Array.from(document.querySelectorAll('button.save')).filter(e => e.checkVisibility())"
    )
    assert page.evaluate(f"{saves}.length") == page.evaluate(
        "document.querySelectorAll('section > .figures svg.plot, section > figure svg.plot, .beside svg.plot').length"
    )


def test_names_beside_a_matrix_are_whole_on_a_phone_and_not_broken_letter_by_letter(
    browser, many_report, tmp_path
):
    many_report.save(tmp_path / "page.html")
    page = browser.page()
    page.size(390, 800)
    page.open((tmp_path / "page.html").as_uri())
    odd = (
        "Array.from(document.querySelectorAll('table.matrix tbody th')).filter(function (e) {{ "
        "return e.scrollWidth > e.clientWidth || e.clientHeight > {}; }}).length"
    )
    assert page.evaluate("document.querySelectorAll('table.matrix tbody th').length") == 24
    assert page.evaluate(odd.format(48)) == 0


def test_a_link_to_a_folded_section_unfolds_it(browser, iris_report, tmp_path):
    iris_report.save(tmp_path / "page.html")
    page = browser.page()
    page.size(1280, 900)
    page.open((tmp_path / "page.html").as_uri())
    assert not page.evaluate("document.querySelector('#data').open")
    page.evaluate("document.querySelector('nav a[href=\"#data\"]').click()")
    assert page.evaluate("document.querySelector('#data').open")


def test_the_page_is_at_most_five_thousand_pixels_long_until_it_is_unfolded(
    browser, iris_report, rare_report, many_report, tmp_path
):
    for report in (iris_report, rare_report, many_report):
        report.save(tmp_path / "page.html")
        page = browser.page()
        page.size(1280, 900)
        page.open((tmp_path / "page.html").as_uri())
        assert page.evaluate("document.documentElement.scrollHeight") <= 5000
