"""Formulas in LaTeX as MathML, made when the site is built: browsers typeset it by themselves.

Pages hold formulas as GitHub reads them too: blocks fenced as ``math``, and ``$…$`` in a line.
Browsers do not break a line within MathML. So a long formula becomes several elements, between
which the browser may break: equations, and within these parts that begin with a relation or a sign.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from latex2mathml.converter import convert

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCK = re.compile(r"^( *)```math\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
# other fenced blocks and spans of code stay as they are
_CODE = re.compile(r"(^ *```.*?^ *```|`[^`\n]+`|<math.*?</math>)", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"\$([^$\n]+)\$")
_FUNCTION = re.compile(r"(<mi>(?:log|ln)</mi>)")  # a little space before its argument
_NAMESPACE = ' xmlns="http://www.w3.org/1998/Math/MathML"'
# bars become fences, which grow with what they enclose
_LEFT_BAR = re.compile(r"(?<!\\left)(\\l[vV]ert)\b")
_RIGHT_BAR = re.compile(r"(?<!\\right)(\\r[vV]ert)\b")
# what the converter calls identifiers are operators, and the other way round
_KINDS = {
    "<mi>~</mi>": "<mo>∼</mo>",
    "<mi>⟺</mi>": "<mo>⟺</mo>",
    '<mo movablelimits="true">Pr</mo>': "<mi>Pr</mi>",
}
_RELATIONS = frozenset("=≠≤≥<>≈∝∼⇒⟺→←∈")
_SIGNS = frozenset("+−")
_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")
_BRACKET = "[]"  # stands for a bracket as a whole
_QUAD = 1.0  # em: a space that separates two equations
_SHORT = 14  # leaves of an equation that stays on one line
_LONG = 24  # leaves of a bracket within which a line may break
# characters of a formula that Markdown would read
_MARKS = {ord(mark): f"&#{ord(mark)};" for mark in "|*_`[]\\~"}


def mathml(latex: str, *, block: bool) -> str:
    """Return one formula as MathML on one line; bars are entities, since they end cells."""
    tree = _tree(latex, block=block)
    if len(_leaves(tree)) <= _SHORT:
        return _written(list(tree), block=block)
    equations = [
        "".join(_written(part, block=block) for part in _parts(equation))
        for equation in _equations(list(tree))
    ]
    return "".join(f'<span class="equation">{equation}</span>' for equation in equations)


def with_formulas(text: str) -> str:
    """Return Markdown in which every formula is MathML."""
    blocks = _BLOCK.sub(_block, text)
    parts = _CODE.split(blocks)
    return "".join(
        part if i % 2 else _INLINE.sub(_inline, part) for i, part in enumerate(parts)
    )


def _block(found: re.Match[str]) -> str:
    indent, latex = found.groups()
    lines = [mathml(line, block=True) for line in latex.split("\n\n") if line.strip()]
    rows = "".join(f'<span class="line">{line}</span>' for line in lines)
    return f'{indent}<div class="formula">{rows}</div>'


def _inline(found: re.Match[str]) -> str:
    # a line that begins with <math> would end its paragraph
    return f"<span>{mathml(found[1], block=False)}</span>"


def _tree(latex: str, *, block: bool) -> ElementTree.Element:
    """Return the row of elements that a formula consists of."""
    fenced = _RIGHT_BAR.sub(r"\\right\1", _LEFT_BAR.sub(r"\\left\1", latex.strip()))
    converted: str = convert(fenced, display="block" if block else "inline")
    math = ElementTree.fromstring(converted.replace(_NAMESPACE, ""))
    plain = ElementTree.tostring(math, encoding="unicode")
    for kind, right in _KINDS.items():
        plain = plain.replace(kind, right)
    return ElementTree.fromstring(plain)[0]


def _leaves(tree: ElementTree.Element) -> list[ElementTree.Element]:
    return [element for element in tree.iter() if len(element) == 0]


def _written(elements: list[ElementTree.Element], *, block: bool) -> str:
    """Return some elements as one formula on one line."""
    style = ' displaystyle="true"' if block else ""
    row = "".join(ElementTree.tostring(element, encoding="unicode") for element in elements)
    spaced = _FUNCTION.sub(r'\1<mspace width="0.17em" />', row)
    one_line = re.sub(r"\s*\n\s*", " ", spaced).translate(_MARKS)
    return f"<math{_NAMESPACE}{style}><mrow>{one_line}</mrow></math>"


def _equations(elements: list[ElementTree.Element]) -> list[list[ElementTree.Element]]:
    """Return the formulas between wide spaces, without these."""
    equations: list[list[ElementTree.Element]] = [[]]
    for element in elements:
        width = element.get("width", "0em") if element.tag == "mspace" else "0em"
        if float(width.removesuffix("em")) >= _QUAD:
            equations.append([])
        else:
            equations[-1].append(element)
    return [equation for equation in equations if equation]


def _parts(elements: list[ElementTree.Element]) -> list[list[ElementTree.Element]]:
    """Return the parts between which a line may break: not within most brackets."""
    if sum(len(_leaves(element)) for element in elements) <= _SHORT:
        return [elements]
    parts: list[list[ElementTree.Element]] = [[]]
    depth = 0
    before = ""
    for element in _opened(elements):
        symbol = _symbol(element)
        if depth == 0 and parts[-1] and _begins_part(symbol, before):
            parts.append([])
            if element.tag == "mo":
                element.set("form", "infix")  # else a leading sign has no space around it
        parts[-1].append(element)
        depth += (symbol in _OPENING) - (symbol in _CLOSING)
        before = symbol
    return parts


def _opened(elements: list[ElementTree.Element]) -> Iterator[ElementTree.Element]:
    """Yield the elements, and those of a long bracket one by one."""
    for element in elements:
        if element.tag == "mrow" and len(_leaves(element)) > _LONG:
            yield from element
        else:
            yield element


def _symbol(element: ElementTree.Element) -> str:
    """Return the operator that an element is, or of which it is a power."""
    if element.tag == "mo" and element.get("fence"):
        return ""  # a bracket that was opened
    base = element[0] if element.tag in {"msub", "msup", "msubsup"} else element
    if base.tag == "mrow" and base[0].get("fence"):
        return _BRACKET
    return (base.text or "") if base.tag == "mo" else ""


def _begins_part(symbol: str, before: str) -> bool:
    """Return whether a part begins with a symbol: a sign after an operator is no sum."""
    if before == "," or (before, symbol) in {(_BRACKET, _BRACKET), ("]", "[")}:
        return True
    if before in _RELATIONS or before in _SIGNS:
        return False
    return symbol in _RELATIONS or symbol in _SIGNS
