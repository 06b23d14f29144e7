"""Code blocks of Markdown pages, and how they are run.

``python tests/docs/pages.py`` runs all but those marked ``<!-- extra: NAME -->``: in an
environment with nothing but the plain install, it shows that this is enough for every page.
"""

import doctest
import glob
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
import warnings
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SKIP = "<!-- not run -->"
_EXTRA = re.compile(r"<!-- extra: (\w+) -->\s*$")
_FENCE = re.compile(
    r"^( *)```(\w*)[^\n]*\n(.*?)^\1```|^<!-- run first\n(.*?)-->", re.MULTILINE | re.DOTALL
)
_FOR_A_SHELL = re.compile(r"[|><;&$]")
_MATCH = doctest.OutputChecker()
_OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line it starts on."""

    language: str
    text: str
    line: int
    extra: str | None = None  # the optional dependencies it needs


def blocks_of(page):
    """Yield the blocks of a page that are to be run, hidden Python ``<!-- run first`` included."""
    text = page.read_text()
    for found in _FENCE.finditer(text):
        line = text[: found.start()].count("\n") + 2
        if found[4] is not None:
            yield Block("python", found[4], line)
        elif not text[: found.start()].rstrip().endswith(SKIP):
            extra = _EXTRA.search(text[: found.start()])
            yield Block(found[2], textwrap.dedent(found[3]), line, extra and extra[1])


def run_page(page, *, plain=False):
    """Run the blocks of a page one after another; ``plain`` leaves out those that need an extra."""
    names = {"__name__": "__main__"}
    for block in blocks_of(page):
        if plain and block.extra:
            continue
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            if block.language in ("python", "pycon"):
                run_python(block, page, names)
                # a reader of a lesson sees every warning that its code prints
                in_course = page.parent.name == "course"
                assert not in_course or not heard, (
                    f"{page.name}:{block.line} {heard[0].message}"
                )
            elif block.language in ("console", "sh", "bash"):
                for command, output in commands_of(block):
                    run_command(command, output, f"{page.name}:{block.line}")


def run_python(block, page, names):
    """Run a block of Python; lines of a session ``>>>`` are checked for their output."""
    source = "\n" * (block.line - 1) + block.text
    if block.text.lstrip().startswith(">>>"):
        parser = doctest.DocTestParser()
        runner = doctest.DocTestRunner(verbose=False, optionflags=_OPTIONS)
        test = parser.get_doctest(block.text, names, page.name, str(page), block.line)
        told = io.StringIO()
        runner.run(test, out=told.write, clear_globs=False)
        names.update(test.globs)
        assert not runner.failures, told.getvalue()
    else:
        exec(compile(source, str(page), "exec"), names)


def commands_of(block):
    """Yield each command of a block, if we are in it, with the output written below it."""
    if not re.search(r"\bsuffice |\.moments|\.suffice", block.text):
        return
    prompt = "$ " if block.language == "console" else ""
    command, output = None, []
    for line in block.text.replace("\\\n", " ").splitlines():
        if prompt and not line.startswith(prompt):
            output.append(line)
            continue
        if command is not None:
            yield command, "\n".join(output)
        command, output = line.removeprefix(prompt).split(" # ")[0].strip(), []
    if command:
        yield command, "\n".join(output)


def run_command(command, expected, where):
    """Run one command line; check what it prints, or says, where the page tells.

    Where the page ends in an error of ours, the command must fail.
    """
    code, printed, said = _called(command)
    if "pip install 'suffice[" in said:  # an extra that is not installed here
        return
    refused = expected.splitlines()[-1:] and expected.splitlines()[-1].startswith("suffice: ")
    assert code == (1 if refused else 0), f"{where}: {command}\n{said}"
    if expected.strip():
        assert any(
            _MATCH.check_output(expected, text, _OPTIONS) for text in (printed, said)
        ), f"{where}: {command}\nthe page says:\n{expected}\nit prints:\n{printed}{said}"


def _called(command):
    """Return exit code, standard output and standard error of a command line."""
    if _FOR_A_SHELL.search(command) or not command.startswith("suffice "):
        program = f'suffice() {{ {shlex.quote(sys.executable)} -m suffice "$@"; }}; '
        done = subprocess.run(
            ["bash", "-c", program + command], capture_output=True, text=True
        )
        return done.returncode, done.stdout, done.stderr
    return _called_here(
        shlex.split(command)[1:], globbed="*" in command and "'" not in command
    )


def _called_here(words, *, globbed):
    from suffice.cli.group import suffice

    if globbed:
        words = [name for word in words for name in sorted(glob.glob(word)) or [word]]
    out, err, code = io.TextIOWrapper(io.BytesIO()), io.StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            suffice(words, prog_name="suffice")
        except SystemExit as leaving:
            code = leaving.code or 0
    out.flush()
    return code, out.buffer.getvalue().decode(), err.getvalue()


def main():
    """Run every page in an empty folder, with the plain install alone."""
    import matplotlib as mpl

    mpl.use("Agg")
    os.environ["COLUMNS"] = "100"
    sys.path.insert(0, str(ROOT))  # for the folder of examples
    for page in PAGES:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            run_page(page, plain=True)
            os.chdir(ROOT)
        print(f"{page.relative_to(ROOT)}: every example runs")  # noqa: T201


if __name__ == "__main__":
    main()
