"""Deliberate mistakes: where a source file can be changed, and what it then says."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

# an operator, and the one that a mistake puts in its place
OPERATORS: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
}
COMPARISONS: dict[type, type] = {
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.LtE: ast.GtE,
    ast.GtE: ast.LtE,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
SIZES = ("n", "k", "d", "n_rows", "n_classes", "n_features", "count", "counts", "rank")
# names of functions whose arguments are text, and of blocks that no test runs
TEXT_CALLS = ("warn", "print", "plural", "listed")
GUARDS = ("TYPE_CHECKING", "__main__")


@dataclass(frozen=True)
class Mutant:
    """One mistake in one file."""

    path: str  # of the file, relative to the root of the repository
    line: int
    column: int
    kind: str
    before: str
    after: str
    source: str  # the whole file with the mistake in it

    @property
    def key(self) -> str:
        place = f"{self.path}:{self.line}:{self.column}"
        return f"{place} {self.kind}: {self.before} -> {self.after}"


def mutants_of(root: Path, path: Path) -> list[Mutant]:
    """Return every mistake that this module knows to make in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = []
    for node, set_node in _places(tree):
        for kind, replacement in _mistakes(node):
            set_node(replacement)
            mutant = Mutant(
                path=str(path.relative_to(root)),
                line=node.lineno,
                column=node.col_offset,
                kind=kind,
                before=ast.unparse(node),
                after=ast.unparse(replacement),
                source=ast.unparse(tree),
            )
            set_node(node)
            found.append(mutant)
    return found


def _places(tree: ast.AST) -> Iterator[tuple[ast.expr, Callable[[ast.expr], None]]]:
    """Yield every expression that is computed, with a function that replaces it."""
    for name, value in ast.iter_fields(tree):
        if isinstance(value, list):
            for at, child in enumerate(value):
                if isinstance(child, ast.AST) and _is_computed(tree, name, child):
                    if isinstance(child, ast.expr):
                        yield child, _setter_of_item(value, at)
                    yield from _places(child)
        elif isinstance(value, ast.AST) and _is_computed(tree, name, value):
            if isinstance(value, ast.expr):
                yield value, _setter_of_field(tree, name)
            yield from _places(value)


def _setter_of_item(items: list[ast.expr], at: int) -> Callable[[ast.expr], None]:
    def set_item(node: ast.expr) -> None:
        items[at] = node

    return set_item


def _setter_of_field(parent: ast.AST, name: str) -> Callable[[ast.expr], None]:
    def set_field(node: ast.expr) -> None:
        setattr(parent, name, node)

    return set_field


def _is_computed(parent: ast.AST, name: str, child: ast.AST) -> bool:
    """Return whether a part of the tree is run and is not the text of a message."""
    if name in (
        "annotation",
        "returns",
        "decorator_list",
        "bases",
        "type_params",
        "format_spec",
    ):
        return False
    if isinstance(child, ast.Raise | ast.Import | ast.ImportFrom | ast.JoinedStr):
        return False
    if isinstance(child, ast.If) and any(guard in ast.unparse(child.test) for guard in GUARDS):
        return False
    if isinstance(child, ast.Call) and ast.unparse(child.func).split(".")[-1] in TEXT_CALLS:
        return False
    # X = Literal[...], Floats: TypeAlias = ...
    is_alias = isinstance(child, ast.AnnAssign) and "TypeAlias" in ast.unparse(
        child.annotation
    )
    is_docstring = isinstance(parent, ast.Expr) and isinstance(child, ast.Constant)
    return not is_alias and not is_docstring


def _mistakes(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.Constant(value=value) if type(value) in (int, float):
            yield "constant + 1", ast.Constant(value + 1)
            yield "constant - 1", ast.Constant(value - 1)
        case ast.Compare(ops=[operator]) if type(operator) in COMPARISONS:
            changed = copy.copy(node)
            changed.ops = [COMPARISONS[type(operator)]()]
            yield "comparison", changed
        case ast.BinOp():
            yield from _mistakes_of_arithmetic(node)
        case ast.BoolOp() | ast.UnaryOp():
            yield from _mistakes_of_logic(node)
        case ast.Name() | ast.Call() if _is_size(node):
            yield "n - 1", ast.BinOp(node, ast.Sub(), ast.Constant(1))


def _mistakes_of_logic(node: ast.BoolOp | ast.UnaryOp) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.BoolOp(op=ast.And(), values=values):
            yield "and, or", ast.BoolOp(ast.Or(), values)
        case ast.BoolOp(values=values):
            yield "and, or", ast.BoolOp(ast.And(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not", operand
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            return  # its constant is changed
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield "sign", operand


def _is_size(node: ast.Name | ast.Call) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "len"
    return isinstance(node.ctx, ast.Load) and node.id in SIZES


def _mistakes_of_arithmetic(node: ast.BinOp) -> Iterator[tuple[str, ast.expr]]:
    if _is_text(node.left) or _is_text(node.right):
        return
    other = OPERATORS.get(type(node.op))
    if other is not None:
        yield "arithmetic", ast.BinOp(node.left, other(), node.right)
    if isinstance(node.op, ast.Add | ast.Sub):
        yield "removed term", node.left


def _is_text(node: ast.expr) -> bool:
    is_string = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_string or isinstance(node, ast.JoinedStr)
