"""Formulas in LaTeX as MathML, made when the site is built: browsers typeset it by themselves.

Pages hold formulas as GitHub reads them too: blocks fenced as ``math``, and ``$…$`` in a line.
"""

from __future__ import annotations

import re

from latex2mathml.converter import convert

_BLOCK = re.compile(r"^( *)```math\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
# other fenced blocks and spans of code stay as they are
_CODE = re.compile(r"(^ *```.*?^ *```|`[^`\n]+`|<math.*?</math>)", re.MULTILINE | re.DOTALL)
_FUNCTION = re.compile(r"(<mi>(?:log|ln)</mi>)")  # a little space before its argument
_INLINE = re.compile(r"\$([^$\n]+)\$")


def mathml(latex: str, *, block: bool) -> str:
    """Return one formula as MathML on one line; bars are entities, since they end cells."""
    tree: str = convert(latex.strip(), display="block" if block else "inline")
    spaced = _FUNCTION.sub(r'\1<mspace width="0.17em"/>', tree)
    return re.sub(r"\s*\n\s*", " ", spaced).replace("|", "&#124;")


def with_formulas(text: str) -> str:
    """Return Markdown in which every formula is MathML."""
    blocks = _BLOCK.sub(_block, text)
    parts = _CODE.split(blocks)
    return "".join(
        part if i % 2 else _INLINE.sub(_inline, part) for i, part in enumerate(parts)
    )


def _block(found: re.Match[str]) -> str:
    indent, latex = found.groups()
    formulas = [mathml(line, block=True) for line in latex.split("\n\n") if line.strip()]
    return f'{indent}<div class="formula">{"".join(formulas)}</div>'


def _inline(found: re.Match[str]) -> str:
    # a line that begins with <math> would end its paragraph
    return f"<span>{mathml(found[1], block=False)}</span>"
