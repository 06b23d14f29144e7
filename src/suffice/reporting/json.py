"""A report as JSON: every block with its raw numbers, drawings only in words."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from suffice.reporting.blocks import Block
    from suffice.reporting.report import Report


def text(report: Report) -> str:
    """Return the report as a JSON document."""
    return json.dumps(plain(report), ensure_ascii=False, indent=1, default=_number)


def plain(report: Report) -> dict[str, Any]:
    """Return the report as mappings, lists, text and numbers."""
    return {
        "suffice": report.version,
        "title": report.title,
        "subtitle": report.subtitle,
        "verdict": report.verdict,
        "sections": [
            {"key": s.key, "title": s.title, "blocks": [_block(b) for b in s.blocks]}
            for s in report.sections
        ],
    }


def _block(block: Block) -> dict[str, Any]:
    parts: dict[str, Any] = _finite({"kind": block.kind, **asdict(block)})
    parts.pop("svg", None)
    return parts


def _finite(value: Any) -> Any:
    """Return the value with null for numbers that JSON does not know."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    return value


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)
