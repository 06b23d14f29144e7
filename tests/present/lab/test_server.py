"""``suffice lab`` as a process: its address, its guards, tables, models and errors of Python."""

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import suffice as sf
from suffice import datasets
from suffice.errors import InvalidInputError
from suffice.present.lab import server
from suffice.present.lab.server import LabTable

from .test_page import painted, press, put

pytestmark = pytest.mark.slow
SAID = "document.querySelector('#table-said').textContent"


@pytest.fixture(scope="session")
def address():
    """Start the lab on the iris data, and interrupt it in the end."""
    command = [sys.executable, "-m", "suffice", "lab", "iris", "--no-browser", "-q"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    yield process.stdout.readline().strip()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")


@pytest.fixture(scope="session")
def served_once(browser, address):
    page = browser.page()
    page.size(900, 2000)
    page.open(address)
    yield page
    said = [words for words in page.console if "400" not in str(words)]
    assert said == []  # Chromium itself logs an answer of 400


@pytest.fixture
def served(served_once):
    return served_once.front()


def asked(url, body=None, **headers):
    """Return status, text and headers of an answer."""
    request = urllib.request.Request(url, body, headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read(), error.headers


def test_the_address_is_on_the_loopback_and_random(address):
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{22}/", address)
    status, text, headers = asked(address)
    assert status == 200
    assert b"connect-src 'self'" in text
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize("verb", ["", "table", "view", "fit", "errors"])
def test_every_endpoint_is_guarded(address, verb):
    body = b"{}" if verb else None
    port = re.search(r":(\d+)/", address)[1]
    guess = f"http://127.0.0.1:{port}/{'x' * 22}/{verb}"
    assert asked(guess, body)[0] == 404
    assert asked(address + verb, body, Host="evil.example")[0] == 400
    if verb:
        assert asked(address + verb)[0] == 405


def test_a_request_that_is_too_large_is_refused(address, monkeypatch):
    status, text, _ = asked(f"{address}table?name=a.csv", b"x" * (server.MOST_BYTES + 1))
    assert status == 413
    assert b"more than 32 MB" in text


@pytest.mark.parametrize(
    ("verb", "said", "told"),
    [
        ("fit", {"name": "tree", "x": [[1, 2]], "y": [0], "at": [[1, "a"]]}, "not understood"),
        (
            "fit",
            {"name": "tree", "x": [[1, 2], [3]], "y": [3], "at": [[1, 2]]},
            "not understood",
        ),
        ("fit", {"name": "os", "x": [[1], [2]], "y": [0, 1], "at": [[1]]}, "no classifier"),
        ("fit", {"name": "tree"}, "not understood"),
        ("view", {"axes": ["petal_length", "nothing"]}, "choose two of"),
        ("errors", 5, "not understood"),
    ],
)
def test_wrong_requests_are_told(address, verb, said, told):
    status, text, _ = asked(address + verb, json.dumps(said).encode())
    assert status == 400
    assert told in text.decode()


def test_json_that_is_nested_too_deeply_is_told(address):
    status, text, _ = asked(address + "fit", b"[" * 200_000)
    assert status == 400
    assert "nested too deeply" in text.decode()


def test_a_client_that_sends_slowly_and_goes_away_holds_up_nobody(address):
    match = re.fullmatch(r"http://([^:/]+):(\d+)(/.*)", address)
    host, port, path = match.groups()
    with socket.create_connection((host, int(port))) as slow:
        head = f"POST {path}table?name=rows.csv HTTP/1.1\r\nHost: {host}\r\n"
        slow.sendall(f"{head}Content-Length: 1000\r\n\r\nx,y".encode())
        assert asked(address)[0] == 200
        slow.sendall(b"\n1")
        assert asked(address)[0] == 200
    # the fixture looks at standard error in the end: the lost client left no traceback there
    assert asked(address)[0] == 200


def test_a_tree_is_that_of_scikit_learn(address):
    rng = np.random.default_rng(0)
    x, y, at = rng.normal(size=(30, 2)), np.arange(30) % 3, rng.normal(size=(7, 2))
    said = {"name": "tree", "x": x.tolist(), "y": y.tolist(), "at": at.tolist()}
    _, numbers, _ = asked(f"{address}fit", json.dumps(said).encode())
    expected = DecisionTreeClassifier(random_state=0).fit(x, y).predict_proba(at)
    np.testing.assert_array_equal(np.frombuffer(numbers).reshape(7, 3), expected)


def test_the_table_that_it_was_started_with(served):
    names, labels, n = served.evaluate(
        "[lab.session.state.names, lab.session.state.labels, lab.session.state.points.length]"
    )
    assert names == ["petal_length", "petal_width"]
    assert labels == ["setosa", "versicolor", "virginica", "D", "E"]
    assert n == 150
    assert "150 rows, 4 columns" in served.evaluate(SAID)
    assert "points" not in served.evaluate("location.hash")


@pytest.mark.browser
def test_models_of_python_in_the_page(served):
    for name in ("tree", "AutoGaussian"):
        put(served, "model", name)
        served.until("lab.session.fit.model !== null")
        assert "training error" in painted(
            served, "document.querySelector('#told').textContent"
        )
    put(served, "model", "lda")


def test_two_columns_and_discriminant_coordinates(served):
    served.evaluate("document.querySelector('#axis-x').value = 'sepal_width'")
    press(served, "axes")
    served.until("lab.session.state.names[0] === 'sepal_width'")
    press(served, "discriminant")
    served.until("lab.session.state.names[0] === 'discriminant 1'")
    x, y = datasets.load("iris").arrays()
    points = np.array(served.evaluate("lab.session.state.points"))
    np.testing.assert_allclose(
        points[:, :2], sf.LDA().fit(x, y).transform(x)[:, :2], atol=1e-12
    )


def upload(page, path, target=""):
    (node,) = [page.call("DOM.getDocument", depth=-1)["root"]["nodeId"]]
    found = page.call("DOM.querySelector", nodeId=node, selector="#file")["nodeId"]
    page.call("DOM.setFileInputFiles", nodeId=found, files=[str(path)])
    page.evaluate(f"document.querySelector('#target').value = {json.dumps(target)}")
    page.evaluate("document.querySelector('#table-said').textContent = ''")
    press(page, "upload")
    page.until(f"{SAID} && !{SAID}.includes('at work')")
    return page.evaluate(SAID)


def test_a_table_is_uploaded(served, tmp_path):
    path = tmp_path / "own data.csv"
    path.write_text(
        "height,kind,width\n" + "".join(f"{i},{'ab'[i % 2]},{i % 3}\n" for i in range(12))
    )
    assert "12 rows, 2 columns" in upload(served, path, "kind")
    assert served.evaluate("lab.session.state.labels") == ["a", "b", "C", "D", "E"]
    assert served.evaluate("lab.session.state.points[5]") == [5, 2, 1]
    served.evaluate("document.querySelector('#all-columns').checked = true")
    press(served, "judge")
    served.until("document.querySelectorAll('#judged tr').length > 5")
    told = served.evaluate(
        "[...document.querySelectorAll('#judged tr')].map((r) => r.innerText)"
    )
    x, y = np.column_stack([np.arange(12), np.arange(12) % 3]), np.arange(12) % 2
    (lda,) = sf.compare(x, y, ["LDA"], cv=6, progress=False).to_frame().loc[["LDA"], "error"]
    assert f"LDA\t{lda:.4f}" in "\n".join(told)


@pytest.mark.parametrize(
    ("name", "text", "target", "told"),
    [
        ("a.csv", "x,y\n1,2\n3,4\n", "z", "z"),
        ("a.xlsx", "x", "", "xlsx"),
        ("a.csv", "x,kind\n1,a\n2,a\n", "kind", "at least 2 classes"),
        ("a.csv", "", "", "a.csv"),
        ("<b>.csv", "x,kind\n1,a\nfour,b\n", "kind", ""),
    ],
)
def test_bad_uploads_get_the_words_of_the_library(served, tmp_path, name, text, target, told):
    before = served.evaluate("lab.session.state.points")
    (tmp_path / name).write_text(text)
    said = upload(served, tmp_path / name, target)
    assert told in said
    assert len(said) > 20
    assert "/tmp" not in said
    assert "unexpected" not in said
    assert served.evaluate("lab.session.state.points") == before


def test_many_rows_and_classes_are_thinned_and_said(tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("u,v,kind\n" + "".join(f"{i},{i % 7},k{i % 8}\n" for i in range(4000)))
    shown = LabTable.opened(str(path), "kind").shown()
    assert len(shown["points"]) == 1500
    assert len(shown["labels"]) == 5
    assert "5 largest of 8 classes" in shown["said"]
    assert "1,500 rows are shown" in shown["said"]


def test_without_the_extra_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(sf.errors.InvalidParameterError, match=r"suffice\[lab\]"):
        server.serve(server.Lab(), print)


def test_classes_that_nobody_painted_need_no_rows_and_others_need_two():
    lab, points = server.Lab(), [[0.0, 1.0], [1.0, 0.5], [3.0, 3.0], [4.0, 2.5], [0.5, 0.0]]
    found = lab.errors(points, [0, 0, 3, 3, 0])
    assert "LDA" in [row[0] for row in found["models"]]
    with pytest.raises(InvalidInputError, match="a class has only 1 row"):
        lab.errors(points, [0, 0, 3, 0, 0])


def test_classes_of_one_mean_have_no_discriminant_to_be_drawn_over():
    x = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    table = LabTable(x, np.array([0, 0, 1, 1]), ["a", "b"], ["x", "y"], [])
    with pytest.raises(InvalidInputError, match="no discriminant separates them"):
        table.shown("discriminant")
