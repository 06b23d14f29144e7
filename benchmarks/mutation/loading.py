"""Import modules of this repository from changed syntax trees, leaving their files alone."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from types import CodeType

Change: TypeAlias = Callable[[], "ast.Module | CodeType"]


class ChangedSources(MetaPathFinder):
    """What imports some modules from syntax trees, and leaves all others to Python."""

    def __init__(self, source: Path, changes: dict[Path, Change]) -> None:
        self.changes = {
            _module_of(path.relative_to(source)): (path, change)
            for path, change in changes.items()
        }

    def install(self) -> None:
        imported = [name for name in self.changes if name in sys.modules]
        if imported:
            raise RuntimeError(f"{imported[0]} is imported already: it cannot be changed")
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        if name not in self.changes:
            return None
        file, change = self.changes[name]
        loader = _Loader(name, str(file), change)
        return importlib.util.spec_from_file_location(name, file, loader=loader)


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, change: Change) -> None:
        super().__init__(name, path)
        self.change = change

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        changed = self.change()
        if isinstance(changed, ast.Module):
            return compile(changed, self.path, "exec", dont_inherit=True)
        return changed


def _module_of(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
