"""Everyday tasks of a contributor: ``python -m tasks test``; without a name it lists them."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent


def _python(*arguments: str) -> None:
    """Run a module or script by this Python, and stop where it fails."""
    print("+ python", *arguments, flush=True)
    subprocess.run([sys.executable, *arguments], cwd=ROOT, check=True)


def test(*arguments: str) -> None:
    """Run the quick tests: laws, oracles, reference values, golden files."""
    _python("-m", "pytest", "-n", "2", *arguments)


def slow(*arguments: str) -> None:
    """Run the slow tests: servers, clusters, browsers, documentation pages."""
    _python("-m", "pytest", "-n", "2", "-m", "slow", *arguments)


def lint() -> None:
    """Check format, lint, types and the layers between packages."""
    _python("-m", "ruff", "format", "--check", ".")
    _python("-m", "ruff", "check", ".")
    _python("-m", "mypy")
    # import-linter has a command, but no module of its name
    _python("-c", "from importlinter.cli import lint_imports_command; lint_imports_command()")


def format() -> None:
    """Format all files, and mend what the linter can."""
    _python("-m", "ruff", "format", ".")
    _python("-m", "ruff", "check", "--fix", ".")


def docs() -> None:
    """Build the site, with warnings as errors, and follow its links."""
    _python("-m", "docs", "build")
    _python("tests/docs/links.py", "site")


def build() -> None:
    """Build the source archive and the wheel in dist/, and try the wheel alone."""
    _python("-m", "build")
    _python("tests/wheel.py", "dist")


def bench(*arguments: str) -> None:
    """Run one benchmark by name."""
    _python("-m", "benchmarks", *arguments)


TASKS: dict[str, Callable[..., None]] = {
    "test": test,
    "slow": slow,
    "lint": lint,
    "format": format,
    "docs": docs,
    "build": build,
    "bench": bench,
}


def main(arguments: list[str]) -> int:
    """Run the task of the first argument and return its exit code."""
    if not arguments or arguments[0] not in TASKS:
        print("usage: python -m tasks NAME [options]\n")
        for name, task in TASKS.items():
            print(f"  {name:8} {task.__doc__}")
        return 2
    try:
        TASKS[arguments[0]](*arguments[1:])
    except subprocess.CalledProcessError as error:
        return int(error.returncode)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
