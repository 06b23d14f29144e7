"""Reports in headless Chromium: wide and narrow, light and dark."""

import json
import os
import re
import shutil
import subprocess
from html import unescape

import pytest

pytestmark = pytest.mark.browser

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SCHEMES = {"light": 1, "dark": 0}  # Blink's numbers

# a page around the page: it measures the report as a window of that width shows it
AROUND = """<!doctype html><title>around</title><body style="margin:0">
<iframe id="f" src="page.html" style="width:{width}px;height:900px;border:0"></iframe>
<pre id="told"></pre><script>
document.getElementById("f").addEventListener("load", function () {{
  var view = this.contentWindow, page = view.document, root = page.documentElement;
  var drawings = Array.from(page.querySelectorAll("figure svg"));
  document.getElementById("told").textContent = JSON.stringify({{
    overflow: root.scrollWidth - root.clientWidth,
    drawings: drawings.length,
    drawn: drawings.filter(function (s) {{
      var box = s.getBoundingClientRect();
      return box.width > 100 && box.height > 60 && s.querySelector("path, image, use");
    }}).length,
    images: Array.from(page.querySelectorAll("svg image")).filter(function (i) {{
      return !i.getAttribute("xlink:href").startsWith("data:");
    }}).length,
    loaded: view.performance.getEntriesByType("resource").filter(function (r) {{
      return !r.name.startsWith("data:");
    }}).map(function (r) {{ return r.name; }}),
    ground: view.getComputedStyle(page.body).backgroundColor,
    words: page.body.innerText.length,
    links: Array.from(page.querySelectorAll("nav a")).every(function (a) {{
      return page.querySelector(a.hash);
    }})
  }});
}});
</script>"""


@pytest.fixture(scope="session")
def chromium():
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    if found is None:
        assert os.environ.get("CI") != "true", "CI has no Chromium: install it"
        pytest.skip("no Chromium here")
    return found


@pytest.fixture(params=["iris_report", "hostile_report"])
def page(request, tmp_path):
    request.getfixturevalue(request.param).save(tmp_path / "page.html")
    return tmp_path


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [1280, 390])
def test_a_page_opens_whole_and_quietly(chromium, page, width, scheme):
    (page / "around.html").write_text(AROUND.format(width=width))
    done = subprocess.run(
        [
            chromium,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            "--allow-file-access-from-files",
            "--enable-logging=stderr",
            f"--user-data-dir={page / 'profile'}",
            f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
            "--window-size=1400,1000",
            "--virtual-time-budget=4000",
            "--dump-dom",
            (page / "around.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    found = re.search(r'<pre id="told">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:]
    told = json.loads(unescape(found[1]))
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
    assert told["overflow"] <= 0
    assert told["drawn"] == told["drawings"] >= 10
    assert told["images"] == 0
    assert told["loaded"] == []
    assert told["links"]
    assert told["words"] > 3000
    assert told["ground"] == {"light": "rgb(245, 246, 248)", "dark": "rgb(18, 21, 26)"}[scheme]
