"""Blocks of a source file: statements that run together, and the tests that run them.

A block is the body of a function or of a branch in it. Statements outside functions belong to
the block of their file, whose name has no function. A compiled function cannot say that it
runs: the blocks that call it stand for it.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
TOUCH = "__suffice_touch__"  # the built-in function that an instrumented block calls


@dataclass(frozen=True)
class Block:
    """Statements that run together."""

    path: str  # of the file, relative to the root of the repository
    function: str  # its qualified name, empty outside functions
    ordinal: int  # in the function: 0 is its body, then its branches
    is_compiled: bool
    statements: list[ast.stmt]

    @property
    def name(self) -> str:
        return f"{self.path}::{self.function}#{self.ordinal}"


def blocks_of(path: str, tree: ast.Module) -> list[Block]:
    """Return the blocks of a file, that of the statements outside functions first."""
    outside = Block(path, "", 0, is_compiled=False, statements=tree.body)
    return [outside, *_blocks_of_functions(path, tree, "")]


def _blocks_of_functions(path: str, parent: ast.AST, prefix: str) -> Iterator[Block]:
    for child in ast.iter_child_nodes(parent):
        match child:
            case ast.ClassDef(name=name):
                yield from _blocks_of_functions(path, child, f"{prefix}{name}.")
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                # a decorated function of a file "loops" is compiled by Numba
                is_compiled = path.endswith("loops.py") and bool(child.decorator_list)
                for at, statements in enumerate(_branches(child)):
                    yield Block(path, f"{prefix}{name}", at, is_compiled, statements)
                yield from _blocks_of_functions(path, child, f"{prefix}{name}.")
            case _:
                yield from _blocks_of_functions(path, child, prefix)


def _branches(function: Function) -> Iterator[list[ast.stmt]]:
    yield function.body
    for statement in function.body:
        yield from _branches_in(statement)


def _branches_in(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the lists of statements that run only sometimes when the statement runs."""
    match statement:
        case ast.If() | ast.For() | ast.While():
            branches = [statement.body, statement.orelse]
        case ast.Try():
            yield from _branches_of_all(statement.body)
            branches = [handler.body for handler in statement.handlers]
            yield from _branches_of_all([*statement.orelse, *statement.finalbody])
        case ast.Match():
            branches = [case.body for case in statement.cases]
        case ast.With():
            yield from _branches_of_all(statement.body)
            return
        case _:
            return
    for branch in branches:
        if branch:
            yield branch
            yield from _branches_of_all(branch)


def _branches_of_all(statements: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    for statement in statements:
        yield from _branches_in(statement)


def block_of_statements(blocks: list[Block]) -> dict[int, Block]:
    """Return the block of each statement, by the id of its node."""
    return {id(statement): block for block in blocks for statement in block.statements}


def instrument(path: str, tree: ast.Module) -> None:
    """Let each block of a file say that it runs, except those of compiled functions."""
    for block in blocks_of(path, tree):
        if block.function and not block.is_compiled:
            call = ast.Call(ast.Name(TOUCH, ast.Load()), [ast.Constant(block.name)], [])
            first = block.statements[0]
            touch = ast.copy_location(ast.Expr(call), first)
            block.statements.insert(1 if _is_docstring(first) else 0, touch)
    ast.fix_missing_locations(tree)


def _is_docstring(statement: ast.stmt) -> bool:
    is_expression = isinstance(statement, ast.Expr)
    return is_expression and isinstance(statement.value, ast.Constant)


class References:
    """Which blocks read a name: for constants, and for compiled functions."""

    def __init__(self, root: Path, files: list[Path]) -> None:
        self.readers: dict[str, set[str]] = defaultdict(set)  # of a name, by names of blocks
        self.compiled: set[str] = set()  # blocks of compiled functions
        self.blocks: dict[str, set[str]] = defaultdict(set)  # of a file
        for file in files:
            path = str(file.relative_to(root))
            self._read(path, ast.parse(file.read_text(encoding="utf-8")))

    def _read(self, path: str, tree: ast.Module) -> None:
        for block in blocks_of(path, tree):
            self.blocks[path].add(block.name)
            if block.is_compiled:
                self.compiled.add(block.name)
            for statement in block.statements:
                if block.function or not isinstance(statement, Function | ast.ClassDef):
                    for name in _names_in(statement):
                        self.readers[name].add(block.name)

    def blocks_that_run(self, block: str, constant: str | None) -> set[str]:
        """Return the blocks that run if a block does, or that read a constant of its file."""
        path, _, function = block.partition("#")[0].partition("::")
        if not function:
            readers = self.readers.get(constant, set()) if constant else set()
            found = set().union(*(self._running(name, set()) for name in readers))
            return found or self._running_of_file(path)
        return self._running(block, set())

    def _running_of_file(self, path: str) -> set[str]:
        return set().union(*(self._running(name, set()) for name in self.blocks[path]))

    def _running(self, block: str, seen: set[str]) -> set[str]:
        path, _, function = block.partition("#")[0].partition("::")
        if not function:  # a table of functions, say: any block of the file may use it
            return self.blocks[path] - self.compiled
        if block not in self.compiled or block in seen:
            return {block}
        seen.add(block)
        callers = self.readers.get(function, set())
        return set().union(*(self._running(caller, seen) for caller in callers))


def _names_in(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
