"""The page in headless Chromium: painting, models, sliders, descent, scenes, addresses, keys."""

import json
import re
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

import suffice.present.lab
from suffice.present.lab import MODULES
from suffice.present.lab import page as lab_page

pytestmark = [pytest.mark.slow, pytest.mark.browser]

SCENES = (
    "problem",
    "generative",
    "likelihood",
    "fish",
    "lda",
    "qda",
    "softmax",
    "costs",
    "approaches",
    "logistic",
    "neighbours",
    "bayes",
)
POINTS = "lab.session.state.points"
TOLD = "document.querySelector('#told').textContent"


def painted(page, code="null"):
    """Return the value of an expression once the page has painted."""
    page.evaluate(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    return page.evaluate(code)


def press(page, action):
    page.evaluate(f"document.querySelector('[data-do={action}]').click()")


def put(page, key, value):
    """Move a slider, tick a box or choose a word."""
    page.evaluate(f"""(() => {{
      const e = document.querySelector('[data-key="{key}"]');
      e[e.type === "checkbox" ? "checked" : "value"] = {json.dumps(value)};
      e.dispatchEvent(new Event("input"));
    }})()""")


def place(page, x, y):
    """Return where a point of the plane is on the screen."""
    box = page.evaluate("""(() => {
      const canvas = document.querySelector("#plane");
      const { left, top, width, height } = canvas.getBoundingClientRect();
      return [left, top, width, height, ...lab.session.state.window];
    })()""")
    left, top, width, height, x0, x1, y0, y1 = box
    return left + width * (x - x0) / (x1 - x0), top + height * (y1 - y) / (y1 - y0)


def ink(page, canvas="#plane"):
    """Return the picture."""
    return painted(page, f"document.querySelector('{canvas}').toDataURL()")


def test_painting_moving_choosing_and_erasing(page):
    page.evaluate("lab.openScene('lda')")
    press(page, "clear")
    assert "at least two classes" in painted(page, TOLD)
    for x, y in [(-3, -2), (-2, 1), (-4, 2)]:
        page.click(*place(page, x, y))
    page.evaluate("document.querySelector('[data-brush=\"1\"]').click()")
    page.drag(place(page, 1, 0), place(page, 3, 0), place(page, 3, 2))
    points = np.array(page.evaluate(POINTS))
    np.testing.assert_allclose(points[:4, :2], [[-3, -2], [-2, 1], [-4, 2], [1, 0]], atol=0.05)
    assert points[:, 2].tolist() == [0, 0, 0, 1, 1, 1]
    assert "training error0 of 6" in painted(page, TOLD)
    assert re.search(r"A \| B: line.* = 0", painted(page, TOLD))
    before = page.evaluate("lab.equations()[0].text")
    page.drag(place(page, 3, 2), place(page, 4, 3), place(page, 5, -4))
    assert page.evaluate(POINTS)[-1] != points[-1].tolist()
    assert page.evaluate("lab.equations()[0].text") != before
    page.click(*place(page, -3, -2))
    bars = painted(page, "document.querySelector('#bars').textContent")
    assert re.search(r"p\(A \| x\): [01]\.\d+.*x₁ adds \S+ to log p\(A\) − log p\(B\)", bars)
    page.evaluate("document.querySelector('[data-brush=\"-1\"]').click()")
    page.click(*place(page, -3, -2))
    assert len(page.evaluate(POINTS)) == 5
    press(page, "undo")
    assert len(page.evaluate(POINTS)) == 6


def test_hovering_shows_the_posterior_of_a_point(page):
    page.evaluate("lab.openScene('lda')")
    x, y, _ = page.evaluate(POINTS)[0]
    page.mouse("mouseMoved", *place(page, x, y))
    bars = painted(page, "document.querySelector('#bars').textContent")
    shown = [float(v) for v in re.findall(r"\| x\): ([\d.]+)", bars)]
    assert sum(shown) == pytest.approx(1, abs=1e-3)
    assert "At (" in page.evaluate("document.querySelector('#said').textContent")


def test_keys_paint_choose_and_erase(page):
    press(page, "clear")
    page.evaluate("document.querySelector('#plane').focus()")
    page.press("3")
    for key in ("ArrowRight", "ArrowUp", "ArrowUp"):
        page.press(key)
    page.press(" ", " ")
    np.testing.assert_allclose(page.evaluate(POINTS), [[0.48, 0.96, 2]])
    page.press("Enter")
    assert page.evaluate("lab.session.chosen") == [0.48, 0.96, 2]
    page.press("Delete")
    assert page.evaluate(POINTS) == []


def test_every_model_is_fitted_and_painted(page):
    page.evaluate("lab.openScene('qda')")
    names = page.evaluate("[...document.querySelector('#model').options].map((o) => o.value)")
    assert len(names) == 10
    pictures = set()
    for name in names:
        put(page, "model", name)
        assert re.search(r"training error\d+ of 180", painted(page, TOLD)), name
        pictures.add(ink(page))
    assert len(pictures) == len(names)


def test_every_slider_changes_what_is_shown(page):
    page.evaluate("lab.openScene('qda')")
    moves = {
        "show.errors": False,
        "pooling": 0.9,
        "shrinkage": 0.7,
        "target": "sphere",
        "divisor": "unbiased",
        "priors.0": 0.9,
        "costs.1": 8,
        "reject": 0.2,
        "temperature": 0.7,
        "show.ellipses": False,
        "show.samples": True,
        "show.boundary": False,
        "shade": "density",
    }
    seen = [ink(page)]
    for key, value in moves.items():
        put(page, key, value)
        seen.append(ink(page))
        assert seen[-1] != seen[-2], key
    assert page.evaluate("lab.session.state.stated") is True
    for model, key, value in [
        ("neighbours", "k", 40),
        ("logistic", "l2", 9),
        ("mixture", "components", 4),
        ("perceptron", "passes", 3),
        ("partial", "tied.0", True),
    ]:
        put(page, "model", model)
        before = ink(page)
        put(page, key, value)
        assert ink(page) != before, key
    put(page, "temperature", -1.5)
    said = painted(
        page, "document.querySelector('[data-key=temperature]').parentNode.textContent"
    )
    assert "T = 0.03162, base > 10⁶" in said


def test_a_new_sample_has_as_many_points_as_asked_for(page):
    page.evaluate("lab.openScene('generative')")
    before = page.evaluate(POINTS)
    put(page, "n", 400)
    assert len(page.evaluate(POINTS)) == 400
    press(page, "draw")
    after = np.array(page.evaluate(POINTS))
    assert after[: len(before)].tolist() != before
    # π = (0.7, 0.3), μ = (2, 1) and (1, 2), Σ = I
    assert (after[:, 2] == 0).mean() == pytest.approx(0.7, abs=0.08)
    for k, mean in enumerate([[2, 1], [1, 2]]):
        own = after[after[:, 2] == k, :2]
        np.testing.assert_allclose(own.mean(0), mean, atol=0.3)
        np.testing.assert_allclose(np.cov(own.T), np.eye(2), atol=0.3)
    fresh = page.evaluate("lab.errors().fresh")
    # the Bayes error of this model is 0.206
    assert fresh["wrong"] / fresh["rows"] == pytest.approx(0.206, abs=0.03)


def test_the_exam_step_by_step(page):
    page.evaluate("lab.openScene('logistic')")
    said = "document.querySelector('#descent-said').textContent"
    assert painted(page, said).startswith("Step 0: w₀ = 0.0000, w = (0.0000), loss 13.8629")
    put(page, "descent.method", "newton")
    for _ in range(8):
        press(page, "step")
    assert "w₀ = -4.0777, w = (1.5046)" in painted(page, said)
    assert "Converged" in painted(page, said)
    put(page, "descent.method", "sgd")
    put(page, "descent.rate", 0.05)
    # stop where a pass changes the log-likelihood by less than 1e-4
    passes, w = page.evaluate("""(() => {
      const d = lab.session.descent;
      for (let pass = 1, before = d.last.loss; ; pass++) {
        for (let i = 0; i < 20; i++) d.step();
        if (Math.abs(d.last.loss - before) < 1e-4) return [pass, d.last.w];
        before = d.last.loss;
      }
    })()""")
    assert passes == 163
    np.testing.assert_allclose(w, [-3.995, 1.480], atol=5e-4)


def test_descents_stall_bounce_diverge_and_end(page):
    page.evaluate("lab.openScene('logistic')")
    said = "document.querySelector('#descent-said').textContent"
    surface = ink(page, "#surface")
    put(page, "descent.rate", 0.0001)
    press(page, "many")
    assert "Stalls" in painted(page, said)
    put(page, "descent.rate", 2)
    press(page, "many")
    assert "Bounces" in painted(page, said)
    assert ink(page, "#surface") != surface
    put(page, "descent.start.0", -4)
    assert "w₀ = -4.0000" in painted(page, said)
    press(page, "run")
    page.until("lab.session.descent.path.length > 3")
    press(page, "run")
    page.evaluate("lab.openScene('approaches')")
    press(page, "descend")
    for method in ("perceptron", "batch"):
        put(page, "descent.method", method)
        before = ink(page)
        press(page, "step")
        assert ink(page) != before
    press(page, "clear")
    assert page.evaluate("lab.session.descent") is None


def test_a_separating_line_ends_the_perceptron(page):
    points = [[-3, 0, 0], [-2, 1, 0], [2, 0, 1], [3, -1, 1]]
    page.evaluate(f"lab.openScene('approaches', {{ points: {points}, painted: true }})")
    press(page, "descend")
    put(page, "descent.method", "perceptron")
    press(page, "many")
    said = painted(page, "document.querySelector('#descent-said').textContent")
    assert "Converged: no row is misclassified" in said


def test_every_scene_opens_by_its_address(page, lab_file):
    assert (
        tuple(
            page.evaluate("[...document.querySelector('#scene').options].map((o) => o.value)")
        )
        == SCENES
    )
    for scene in SCENES:
        page.evaluate(f"location.hash = 'scene={scene}'")
        page.until(f"lab.session.scene === '{scene}'")
        assert "training error" in painted(page, TOLD)
        text = page.evaluate("document.querySelector('#text').textContent")
        assert 2 <= len(re.findall(r"[.?](?: |$)", text)) <= 4, text
    press(page, "next")
    assert page.evaluate("[lab.session.scene, location.hash]") == ["problem", "#scene=problem"]


def test_an_address_keeps_what_was_painted_and_set(page, lab_file, browser):
    page.evaluate("lab.openScene('softmax')")
    page.evaluate("document.querySelector('[data-brush=\"2\"]').click()")
    page.click(*place(page, 4, 4))
    put(page, "temperature", 0.5)
    put(page, "model", "qda")
    state, grid, address = page.evaluate(
        "[lab.session.state, Array.from(lab.grid(9).p), location.href]"
    )
    other = browser.page()
    other.open(address)
    assert other.evaluate("lab.session.state") == state
    assert other.evaluate("Array.from(lab.grid(9).p)") == grid
    for broken in ("{broken", '{"points":[[0,0,9]]}', '{"priors":3}', '{"descent":{}}'):
        other.open(f"{lab_file.as_uri()}#scene=lda&state={quote(broken)}")
        assert "cannot be read" in other.evaluate(
            "document.querySelector('#said').textContent"
        )
        assert other.evaluate("[lab.session.scene, lab.session.state.points.length]") == [
            "lda",
            120,
        ]
    assert other.console == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_wide_and_narrow_light_and_dark(page, width, scheme):
    page.size(width, 900, scheme)
    page.evaluate("lab.openScene('logistic')")
    overflow, ground, small = painted(
        page,
        """[document.documentElement.scrollWidth - document.documentElement.clientWidth,
        getComputedStyle(document.body).backgroundColor,
        [...document.querySelectorAll("canvas")].filter((c) => c.clientWidth < 250).length]""",
    )
    page.size(900, 2000)
    assert overflow <= 0
    assert ground == {"light": "rgb(245, 246, 248)", "dark": "rgb(18, 21, 26)"}[scheme]
    assert small == 0


def test_the_theme_can_be_switched(page):
    ground = "getComputedStyle(document.body).backgroundColor"
    light, picture = page.evaluate(ground), ink(page)
    press(page, "theme")
    assert painted(page, ground) != light
    assert ink(page) != picture
    press(page, "theme")
    assert painted(page, ground) == light
    assert ink(page) == picture


def test_every_control_has_a_name(page):
    nameless = page.evaluate("""[...document.querySelectorAll("button, select, input, canvas")]
      .filter((e) => !e.getAttribute("aria-label") && !e.closest("label"))
      .filter((e) => e.tagName !== "BUTTON" || !e.textContent.trim())
      .map((e) => e.outerHTML)""")
    assert nameless == []


def test_the_page_asks_nothing_of_any_other_place(page):
    text = lab_page()
    assert not re.search(r"""(?:src|href)=["'](?!data:)|https?://|@import|url\(""", text)
    assert page.evaluate("performance.getEntriesByType('resource').length") == 0
    assert "connect-src 'none'" in text
    assert len(re.findall(r"script-src 'sha256-[^']+'", text)) == 1
    # another script than the page's own does not run
    page.evaluate("""(() => {
      const script = document.createElement("script");
      script.textContent = "var intruder = 1";
      document.body.append(script);
    })()""")
    assert page.evaluate("typeof intruder") == "undefined"
    page.console[:] = [
        said for said in page.console if "Content Security Policy" not in str(said)
    ]


def test_every_module_of_the_folder_is_on_the_page():
    folder = Path(suffice.present.lab.__file__).parent / "page"
    assert sorted(path.stem for path in folder.glob("*.js")) == sorted(MODULES)
