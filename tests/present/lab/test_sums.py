"""Sums, links, questions and texts of the lab: what they do is what Python does."""

import contextlib
import io
import json

import numpy as np
import pytest

import suffice as sf

pytestmark = [pytest.mark.slow, pytest.mark.browser]
CLOSE = {"rtol": 0, "atol": 1e-9}


def painted(page, code="null"):
    """Return the value of an expression once the page has painted."""
    page.evaluate(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    return page.evaluate(code)


def press(page, action):
    page.evaluate(f"document.querySelector('[data-do={action}]').click()")


def fitted_rows(page):
    x, y = page.evaluate("[lab.session.fit.x, lab.session.fit.y]")
    return np.array(x), np.array(y)


def cells(page, n):
    """Return the centres of n × n cells of the plane."""
    u = (np.arange(n) + 0.5) / n
    x0, x1, y0, y1 = page.evaluate("lab.session.state.window")
    places = np.stack(np.meshgrid(x0 + u * (x1 - x0), y0 + u * (y1 - y0)), axis=-1)
    return places.reshape(-1, 2)


def open_scene(page, name, **state):
    page.evaluate(f"lab.openScene({json.dumps(name)}, {json.dumps(state)})")


@pytest.mark.parametrize("scene", ["lda", "qda", "fish"])
def test_other_points_of_the_same_sums_have_the_same_classifier(page, scene):
    open_scene(page, scene)
    before = fitted_rows(page)[0]
    sums = page.evaluate("lab.sums()")
    grid = page.evaluate("Array.from(lab.grid(9).p)") if scene != "fish" else None
    press(page, "others")
    after, codes = fitted_rows(page)
    assert np.abs(after - before).max() > 0.1
    moments = sf.Moments.of(after, codes)
    np.testing.assert_allclose(moments.means, sums["means"], **CLOSE)
    np.testing.assert_allclose(moments.scatters, sums["scatters"], rtol=0, atol=1e-8)
    if grid is not None:
        np.testing.assert_allclose(page.evaluate("Array.from(lab.grid(9).p)"), grid, **CLOSE)


def test_the_sums_of_the_page_are_those_of_python(page):
    open_scene(page, "qda")
    x, y = fitted_rows(page)
    sums = page.evaluate("lab.sums()")
    moments = sf.Moments.of(x, y)
    assert sums["counts"] == moments.counts.tolist()
    np.testing.assert_allclose(sums["means"], moments.means, **CLOSE)
    np.testing.assert_allclose(sums["scatters"], moments.scatters, **CLOSE)
    texts = json.loads(page.evaluate("lab.momentsText()"))
    np.testing.assert_allclose(texts["scatters"], moments.scatters, **CLOSE)


def test_two_links_add_up_and_a_point_is_forgotten(page):
    open_scene(page, "lda", points=[[0, 0, 0], [1, 2, 0], [3, 1, 1], [4, 4, 1]], painted=True)
    page.evaluate("lab.change({})")
    link = "lab.html" + page.evaluate("location.hash")
    open_scene(page, "lda", points=[[5, 1, 0], [6, 2, 0], [7, 0, 1], [8, 1, 1]], painted=True)
    page.evaluate(f"document.querySelector('#other-link').value = {json.dumps(link)}")
    press(page, "merge")
    x, y = fitted_rows(page)
    assert len(x) == 8
    a, b = sf.Moments.of(x[:4], y[:4]), sf.Moments.of(x[4:], y[4:])
    sums = page.evaluate("lab.sums()")
    np.testing.assert_allclose((a + b).scatters, sums["scatters"], **CLOSE)
    page.evaluate("lab.session.chosen = lab.session.state.points[0]")
    press(page, "forget")
    rest = (a + b) - sf.Moments.of(x[:1], y[:1])
    np.testing.assert_allclose(rest.means, page.evaluate("lab.sums().means"), **CLOSE)
    page.evaluate("document.querySelector('#other-link').value = 'nonsense'")
    press(page, "merge")
    assert "not a link of the lab" in page.evaluate(
        "document.querySelector('#said').textContent"
    )


@pytest.mark.parametrize("model", ["lda", "qda", "naive", "neighbours"])
def test_the_leave_one_out_error_is_that_of_python(page, model):
    open_scene(page, "costs", model=model, reject=1, costs=[1, 1, 1, 1, 1], k=5)
    x, y = fitted_rows(page)
    wrong = page.evaluate("lab.leaveOneOut().wrong")
    if model == "neighbours":
        from sklearn.model_selection import LeaveOneOut, cross_val_predict
        from sklearn.neighbors import KNeighborsClassifier

        told = cross_val_predict(KNeighborsClassifier(5), x, y, cv=LeaveOneOut())
        assert wrong == (told != y).sum()
        return
    estimator = {"lda": sf.LDA(), "qda": sf.QDA(), "naive": sf.GaussianNB()}[model]
    assert wrong == round(sf.leave_one_out(estimator, x, y).error * len(y))
    press(page, "leave")
    assert "leave-one-out error" in painted(
        page, "document.querySelector('#told').textContent"
    )


def test_steps_of_em_raise_the_likelihood_up_to_the_fit(page):
    likelihoods = []
    for steps in (1, 2, 3, 5, 8, 0):
        open_scene(page, "bayes", emSteps=steps)
        told = painted(page, "document.querySelector('#told').textContent")
        likelihoods.append(float(told.split("log-likelihood")[1][:9].replace("−", "-")))
    assert likelihoods == sorted(likelihoods)
    assert likelihoods[-1] > likelihoods[0]
    press(page, "em")
    assert page.evaluate("lab.session.state.emSteps") == 1


def places_of(page, points):
    """Return where points of the plane lie on the screen."""
    return painted(
        page,
        f"""(() => {{
      const box = document.querySelector('#plane').getBoundingClientRect();
      const [x0, x1, y0, y1] = lab.session.state.window;
      return {json.dumps(points)}.map(([x, y]) => [
        box.left + (x - x0) / (x1 - x0) * box.width,
        box.bottom - (y - y0) / (y1 - y0) * box.height]);
    }})()""",
    )


def choose_brush(page, number):
    page.evaluate(f"document.querySelector('[data-brush=\"{number}\"]').click()")


def test_dragging_the_mean_moves_a_class(page):
    open_scene(page, "lda")
    choose_brush(page, -2)
    before = page.evaluate("lab.sums()")
    (place,) = places_of(page, [before["means"][0]])
    page.drag(place, (place[0] + 40, place[1] - 20))
    after = page.evaluate("lab.sums()")
    assert after["means"][0][0] > before["means"][0][0] + 0.3
    assert after["means"][0][1] > before["means"][0][1] + 0.1
    np.testing.assert_allclose(after["scatters"], before["scatters"], rtol=1e-9)
    np.testing.assert_allclose(after["means"][1], before["means"][1], **CLOSE)
    choose_brush(page, 0)


def test_dragging_an_ellipse_stretches_a_class_about_its_mean(page):
    open_scene(page, "qda")
    choose_brush(page, -2)
    sums = page.evaluate("lab.sums()")
    mean = np.array(sums["means"][2])
    rows, codes = fitted_rows(page)
    start = mean + np.array([1.2, 0.0])
    end = mean + np.array([2.4, 0.0])
    page.drag(*places_of(page, [start.tolist(), end.tolist()]))
    x, y = fitted_rows(page)
    np.testing.assert_allclose(page.evaluate("lab.sums().means"), sums["means"], **CLOSE)
    np.testing.assert_array_equal(x[codes != 2], rows[codes != 2])
    # x' − x = (s − 1) u uᵀ (x − μ), with u from the mean to the place where the drag began
    moves, offsets = (x - rows)[codes == 2], rows[codes == 2] - mean
    u = np.linalg.svd(moves)[2][0]
    assert abs(u[0]) > 0.999
    along = offsets @ u
    s = 1 + (moves @ u) @ along / (along @ along)
    assert 1.9 < s < 2.1
    np.testing.assert_allclose(moves, (s - 1) * np.outer(along, u), **CLOSE)
    grid = np.array(page.evaluate("Array.from(lab.grid(7).p)")).reshape(49, -1)
    np.testing.assert_allclose(sf.QDA().fit(x, y).predict_proba(cells(page, 7)), grid, **CLOSE)
    choose_brush(page, 0)


@pytest.mark.parametrize(
    "state",
    [
        {"model": "lda", "stated": True, "priors": [0.2, 0.3, 0.5, 0.5, 0.5]},
        {"model": "qda", "pooling": 0.3, "divisor": "unbiased"},
        {"model": "qda", "shrinkage": 0.25, "target": "sphere"},
        {"model": "partial"},
        {"model": "naive"},
        {"model": "logistic", "l2": 1},
    ],
)
def test_the_lines_of_python_fit_the_same_model(page, state):
    open_scene(page, "qda", **state)
    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(page.evaluate("lab.pythonText()"), names)
    p = np.array(page.evaluate("Array.from(lab.grid(7).p)")).reshape(49, -1)
    tolerance = 1e-5 if state["model"] == "logistic" else 1e-9
    told = names["model"].predict_proba(cells(page, 7))
    np.testing.assert_allclose(told, p, rtol=0, atol=tolerance)


def test_the_model_file_states_the_fitted_densities(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    open_scene(page, "qda")
    names = {}
    exec(page.evaluate("lab.modelText()"), names)
    saved = sf.load("scene.suffice")
    x, y = fitted_rows(page)
    expected = sf.QDA().fit(x, y)
    np.testing.assert_allclose(saved.predict_proba(x), expected.predict_proba(x), **CLOSE)
    open_scene(page, "neighbours")
    assert "choose LDA" in page.evaluate("lab.modelText()")


def test_questions_are_scored_and_kept_in_the_link(page, browser, lab_file):
    open_scene(page, "lda")
    painted(page)
    page.evaluate("document.querySelectorAll('#choices button')[1].click()")
    assert page.evaluate("document.querySelector('#verdict').textContent").startswith("Right.")
    open_scene(page, "softmax")
    painted(page)
    page.evaluate("document.querySelectorAll('#choices button')[2].click()")
    assert page.evaluate("document.querySelector('#verdict').textContent").startswith(
        "Not quite"
    )
    assert page.evaluate("lab.score()") == {"right": 1, "given": 2, "all": 12}
    address = page.evaluate("location.hash")
    other = browser.page()
    other.open(lab_file.as_uri() + address)
    other.until("globalThis.lab !== undefined")
    assert other.evaluate("lab.score().given") == 2
    page.evaluate("lab.session.answers = {}")


def test_far_points_turn_lda_and_least_squares_together_and_leave_the_perceptron(page):
    open_scene(page, "approaches")
    points = page.evaluate("lab.session.state.points")
    far = [[8, 0, 1], [8.5, 0.5, 1], [9, -0.5, 1]]

    def angle(model, rows):
        open_scene(page, "approaches", points=rows, painted=True, model=model)
        w = page.evaluate("lab.equations()[0].boundary.b")
        return float(np.arctan2(w[1], w[0]))

    before = {model: angle(model, points) for model in ("lda", "squares", "perceptron")}
    after = {model: angle(model, points + far) for model in before}
    assert before["lda"] == pytest.approx(before["squares"], abs=1e-9)
    assert after["lda"] == pytest.approx(after["squares"], abs=1e-9)
    assert abs(after["lda"] - before["lda"]) > 0.1
    assert after["perceptron"] == before["perceptron"]


def test_arrow_keys_move_the_readout_away_from_a_chosen_point(page):
    open_scene(page, "lda")
    page.evaluate("lab.session.chosen = lab.session.state.points[0]")
    page.evaluate("document.querySelector('#plane').focus()")
    first = painted(page, "document.querySelector('#said').textContent")
    page.evaluate(
        "document.querySelector('#plane').dispatchEvent("
        "new KeyboardEvent('keydown', {key: 'ArrowRight'}))"
    )
    second = painted(page, "document.querySelector('#said').textContent")
    assert second.startswith("At (")
    assert second != first


def test_run_and_step_are_beside_the_plane(page):
    page.size(1280, 800)
    open_scene(page, "logistic")
    painted(page)
    step, plane = page.evaluate(
        "['[data-do=step]', '#plane'].map((s) => {"
        "const b = document.querySelector(s).getBoundingClientRect(); return [b.top, b.bottom]})"
    )
    assert step[1] <= plane[0] < 420
    assert step[1] < 800
    page.size(900, 2000)


def test_the_plane_stays_in_view_on_a_phone(page):
    page.size(390, 844)
    open_scene(page, "lda")
    painted(page)
    page.evaluate("scrollTo(0, document.body.scrollHeight * 0.6)")
    top, bottom = painted(
        page,
        "(() => { const b = document.querySelector('#plane').getBoundingClientRect();"
        " return [b.top, b.bottom] })()",
    )
    assert top >= -1
    assert bottom <= 844
    page.size(900, 2000)
