"""Links: of Markdown pages to each other, and of the built site.

``python tests/docs/links.py site`` checks every page of a built site: links, anchors, pictures, and
that nothing is loaded from elsewhere.
"""

import re
import sys
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

_CODE = re.compile(r"^( *)```.*?^\1```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)(?:\s[^)]*)?\)")


def slug(title):
    """Return the anchor of a heading, as Python-Markdown makes it."""
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)|[`*]", r"\1", title)
    plain = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def anchors_of(page):
    """Return the anchors of a Markdown page: of its headings, and those written as HTML."""
    text = re.sub(r"^( *)```.*?^\1```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = {slug(title) for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}
    return headings | set(re.findall(r'<a id="([^"]+)">', text))


def broken_in_markdown(folder):
    """Yield "page: link" for every link of Markdown pages in a folder that leads nowhere."""
    for page in sorted(folder.rglob("*.md")):
        for target in _LINK.findall(_CODE.sub("", page.read_text())):
            path, anchor = urldefrag(target)
            if urlsplit(path).scheme:
                continue
            there = page.parent / unquote(path) if path else page
            gone = not there.exists()
            if gone or (anchor and there.suffix == ".md" and anchor not in anchors_of(there)):
                yield f"{page.relative_to(folder)}: {target}"


class Page(HTMLParser):
    """The anchors of an HTML page, where it leads, and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loaded = {"", "__top"}, [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Note an anchor, a link or something loaded."""
        found = dict(attrs)
        self.anchors |= {found[key] for key in ("id", "name") if found.get(key)}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag in ("img", "script", "iframe") and found.get("src"):
            self.loaded.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(found["href"])


def broken_in_site(site):
    """Yield "page: link" for every link of a built site that leads nowhere."""
    pages = {path: Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        if path.name == "404.html":  # shown at any address
            continue
        for link in page.links + page.loaded:
            address, anchor = urldefrag(link)
            if urlsplit(address).scheme or address.startswith("//"):
                if link in page.loaded and not address.startswith("data:"):
                    yield f"{path.relative_to(site)} loads {link}"
                continue
            there = (path.parent / unquote(address)).resolve() if address else path
            there = there / "index.html" if there.is_dir() else there
            scene = there.name == "lab.html"  # the lab reads its anchors itself
            known = there.exists() and (
                scene or there not in pages or anchor in pages[there].anchors
            )
            if not known:
                yield f"{path.relative_to(site)}: {link}"


def main():
    """Check the built site that is named."""
    site = Path(sys.argv[1]).resolve()
    broken = list(broken_in_site(site))
    print("\n".join(broken) or f"{site.name}: every link leads somewhere")  # noqa: T201
    return bool(broken)


if __name__ == "__main__":
    raise SystemExit(main())
