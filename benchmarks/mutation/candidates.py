"""Deliberate mistakes: where a source file can be changed, and what it then says."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.mutation.blocks import Block, Function, block_of_statements, blocks_of

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
# functions whose first two arguments can be swapped, or cannot be swapped without an error
NOT_SWAPPED = (
    "add",
    "allclose",
    "array_equal",
    "cast",
    "equal",
    "getattr",
    "hasattr",
    "isclose",
    "isinstance",
    "max",
    "maximum",
    "min",
    "minimum",
    "multiply",
    "zip",
)
TYPES = ("bool", "float", "int", "object", "str")
NUMERIC_TYPES = ("float", "int", "Floats")
GUARDS = ("TYPE_CHECKING", "__main__")


@dataclass(frozen=True)
class Mutant:
    """One mistake in one file."""

    path: str  # of the file, relative to the root of the repository
    line: int
    block: str  # the name of the block that it is in
    function: str  # its qualified name, empty outside functions
    constant: str | None  # what the statement assigns, outside functions
    change: str  # its kind, the expression before and after
    repetition: int  # how often the same change was possible before in the function

    @property
    def key(self) -> str:
        """What names the mutant as long as its function does not change."""
        repetition = f" ({self.repetition + 1})" if self.repetition else ""
        return f"{self.path}::{self.function} {self.change}{repetition}"


def mutants_of(root: Path, path: Path) -> list[Mutant]:
    """Return every mistake that this module knows to make in a file."""
    return [mutant for mutant, _ in _changes(root, path)]


def mutated(root: Path, mutant: Mutant) -> ast.Module:
    """Return the syntax tree of a file with the mistake in it."""
    for found, tree in _changes(root, root / mutant.path):
        if found == mutant:
            return ast.fix_missing_locations(tree)
    raise LookupError(f"{mutant.path} has changed: it has no place for {mutant.key}")


def _changes(root: Path, path: Path) -> Iterator[tuple[Mutant, ast.Module]]:
    """Yield every mistake with the tree that has it until the next one is asked for."""
    relative = str(path.relative_to(root))
    tree = ast.parse(path.read_text(encoding="utf-8"))
    blocks = blocks_of(relative, tree)
    n_before: Counter[tuple[str, str]] = Counter()
    for place in list(_Places(tree, blocks).of(tree, blocks[0], None)):
        for kind, replacement in [*_mistakes(place.node), *place.mistakes_of_return()]:
            change = f"{kind}: {ast.unparse(place.node)} -> {ast.unparse(replacement)}"
            mutant = Mutant(
                path=relative,
                line=place.node.lineno,
                block=place.block.name,
                function=place.block.function,
                constant=place.constant,
                change=change,
                repetition=n_before[place.block.function, change],
            )
            n_before[place.block.function, change] += 1
            place.replace(ast.copy_location(replacement, place.node))
            yield mutant, tree
            place.replace(place.node)


@dataclass(frozen=True)
class _Place:
    """An expression that is computed, and a function that replaces it."""

    node: ast.expr
    replace: Callable[[ast.expr], None]
    block: Block
    constant: str | None
    returned_type: str  # empty if the expression is not what a function returns

    def mistakes_of_return(self) -> Iterator[tuple[str, ast.expr]]:
        if self.returned_type == "bool":
            yield "return value", ast.UnaryOp(ast.Not(), self.node)
        elif self.returned_type in NUMERIC_TYPES:
            yield "return value", ast.UnaryOp(ast.USub(), self.node)


class _Places:
    def __init__(self, tree: ast.Module, blocks: list[Block]) -> None:
        self.block_of = block_of_statements(blocks)
        self.type_of = _types_of_returns(tree)

    def of(self, node: ast.AST, block: Block, constant: str | None) -> Iterator[_Place]:
        """Yield the places below a node of the syntax tree."""
        if isinstance(node, ast.stmt):
            block = self.block_of.get(id(node), block)
            constant = _assigned(node) if not block.function else None
        for name, value in ast.iter_fields(node):
            # defaults of arguments count as a part of the function
            is_default = name == "args" and isinstance(node, Function)
            inner = self.block_of[id(node.body[0])] if is_default else block
            if isinstance(value, list):
                for at, child in enumerate(value):
                    yield from self._child(
                        node, name, child, _setter_of_item(value, at), inner, constant
                    )
            else:
                yield from self._child(
                    node, name, value, _setter_of_field(node, name), inner, constant
                )

    def _child(
        self,
        parent: ast.AST,
        name: str,
        child: object,
        replace: Callable[[ast.expr], None],
        block: Block,
        constant: str | None,
    ) -> Iterator[_Place]:
        if not isinstance(child, ast.AST) or not _is_computed(parent, name, child):
            return
        if isinstance(child, ast.expr):
            returned_type = self.type_of.get(id(parent), "")
            yield _Place(child, replace, block, constant, returned_type)
        yield from self.of(child, block, constant)


def _types_of_returns(tree: ast.Module) -> dict[int, str]:
    """Return the annotated type of what each ``return`` gives, by the id of its node."""
    functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
    return {
        id(node): ast.unparse(function.returns)
        for function in functions  # those inside others come later, and overwrite
        if function.returns is not None
        for node in ast.walk(function)
        if isinstance(node, ast.Return)
    }


def _assigned(statement: ast.stmt) -> str | None:
    """Return the name that a statement outside functions gives to a value."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case ast.ClassDef(name=name):
            return name
    return None


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
        case ast.Call(func=function, args=[first, second, *others]) if _is_swapped(node):
            swapped = [second, first, *others]
            yield "swapped arguments", ast.Call(function, swapped, node.keywords)


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


def _is_swapped(node: ast.Call) -> bool:
    first, second = node.args[:2]
    values = (ast.Name, ast.Attribute, ast.Subscript)
    if not isinstance(first, values) or not isinstance(second, values):
        return False
    is_type = ast.unparse(second).startswith("np.") or ast.unparse(second) in TYPES
    function = ast.unparse(node.func).split(".")[-1]
    is_same = ast.unparse(first) == ast.unparse(second)
    return not is_type and not is_same and function not in NOT_SWAPPED


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
