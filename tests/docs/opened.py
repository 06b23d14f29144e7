"""``python tests/docs/opened.py site``: the built site in headless Chromium.

Pages are opened wide and as a phone shows them, light and dark: nothing overflows, no formula is
cut, nothing is loaded from elsewhere, the console is quiet, and the search finds a word.
"""

import functools
import json
import shutil
import subprocess
import sys
import tempfile
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SHOWN = [
    "",
    "course/",
    "course/05-linear-discriminant/",
    "lectures/",
    "glossary/",
    "api/gaussian/",
    "figures/",
]
SEARCHED = "Bessel"
AROUND = """<!doctype html><title>around</title><script>
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const roots = (at) => [...at.querySelectorAll("*")].filter((e) => e.shadowRoot)
  .flatMap((e) => [e.shadowRoot, ...roots(e.shadowRoot)]);
async function opened(path, width) {
  const frame = document.createElement("iframe");
  frame.style = `width:${width}px;height:900px;border:0`;
  frame.src = path;
  document.body.append(frame);
  await new Promise((done) => frame.addEventListener("load", done));
  await pause(300);
  return frame;
}
function measured(frame) {
  const view = frame.contentWindow, root = view.document.documentElement;
  const pictures = [...view.document.querySelectorAll("article img")];
  return {
    overflow: root.scrollWidth - root.clientWidth,
    cut: [...view.document.querySelectorAll("article :is(math, .formula, .lectures td)")]
      .filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent),
    ground: view.getComputedStyle(view.document.body).backgroundColor,
    missing: pictures.filter((p) => p.loading !== "lazy" && !p.naturalWidth).map((p) => p.src),
    elsewhere: view.performance.getEntriesByType("resource").map((r) => r.name)
      .filter((n) => !n.startsWith(location.origin) && !n.startsWith("data:")),
  };
}
async function found(word) {
  const frame = await opened("/course/", 1280), page = frame.contentDocument;
  page.querySelector("label[for=__search]").click();
  for (let tries = 0; tries < 60; tries++) {
    await pause(250);
    const box = roots(page).map((r) => r.querySelector("input")).find(Boolean);
    if (!box) continue;
    if (box.value !== word) {
      box.value = word;
      box.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
    }
    const results = roots(page).flatMap((r) => [...r.querySelectorAll("a[href]")]);
    if (results.length) return results.map((a) => a.getAttribute("href"));
  }
  return [];
}
addEventListener("load", async () => {
  const told = { pages: {} };
  for (const path of SHOWN) for (const width of [1280, 390]) {
    const frame = await opened("/" + path, width);
    told.pages[`${path || "index"} at ${width}`] = measured(frame);
    frame.remove();
  }
  told.found = await found(SEARCHED);
  await fetch("/told", { method: "POST", body: JSON.stringify(told) });
});
</script><body style="margin:0"></body>"""


class Site(SimpleHTTPRequestHandler):
    """Serves the site and the page around it, and hears what that page tells."""

    heard = None

    def do_GET(self):
        """Answer with a file, or with the page around the pages."""
        if self.path != "/around.html":
            return super().do_GET()
        page = AROUND.replace("of SHOWN", f"of {json.dumps(SHOWN)}")
        page = page.replace("(SEARCHED)", f"({json.dumps(SEARCHED)})").encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        return self.wfile.write(page)

    def do_POST(self):
        """Keep what is told."""
        self.server.told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
        self.heard.set()

    def log_message(self, *_):
        """Say nothing."""


def opened(chromium, site, scheme):
    """Return what a browser tells of the site, and its console."""
    Site.heard = threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Site, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/around.html"
    with tempfile.TemporaryDirectory() as profile, tempfile.TemporaryFile("w+") as log:
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
        options += [
            f"--user-data-dir={profile}",
            f"--blink-settings=preferredColorScheme={scheme}",
        ]
        browser = subprocess.Popen(
            [chromium, *options, "--remote-debugging-port=0", address], stderr=log, stdout=log
        )
        in_time = Site.heard.wait(90)
        browser.terminate()
        browser.wait()
        server.shutdown()
        log.seek(0)
        console = [line for line in log if "CONSOLE" in line]
    assert in_time, "the site did not open in 90 seconds"
    return server.told, console


def main():
    """Open the built site that is named, light and dark."""
    chromium = next(path for path in map(shutil.which, NAMES) if path)
    grounds = []
    for scheme in (1, 0):  # Blink's numbers: light, dark
        told, console = opened(chromium, Path(sys.argv[1]).resolve(), scheme)
        assert not console, console
        assert any("03-maximum-likelihood" in link for link in told["found"]), told["found"]
        for page, seen in told["pages"].items():
            assert seen["overflow"] <= 0, (page, seen)
            assert not seen["cut"], (page, seen)
            assert not seen["missing"], (page, seen)
            assert not seen["elsewhere"], (page, seen)
        grounds.append({seen["ground"] for seen in told["pages"].values()})
    assert grounds[0].isdisjoint(grounds[1]), grounds
    print(f"{len(told['pages'])} views, light and dark: whole, quiet, searched")  # noqa: T201


if __name__ == "__main__":
    main()
