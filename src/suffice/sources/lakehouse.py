"""Tables of Delta Lake and Iceberg: their log, and not their folder, says which rows count."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl

from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.sources.frames import frame_source
from suffice.sources.source import Source
from suffice.text.printable import without_passwords


def is_lakehouse(source: Any) -> bool:
    """Return whether this names a table of Delta Lake or Iceberg."""
    return isinstance(source, (str, Path)) and _parted(str(source))[0] in _KINDS


def _parted(address: str) -> tuple[str, str]:
    """Return the kind of a table, or nothing, and its place; a folder may show that it is one."""
    if Path(address, "_delta_log").is_dir():
        return "delta", address
    kind, _, place = address.partition(":")
    return kind, place


def lakehouse_source(address: str) -> Source:
    """Return the rows of one version of a table, the latest when it is opened."""
    (kind, place), shown = _parted(address), without_passwords(address)
    try:
        return frame_source(_KINDS[kind](place), shown)
    except ImportError as error:
        msg = f"{shown} needs the extra {kind!r}: pip install 'suffice[{kind}]'"
        raise InvalidParameterError(msg) from error
    except Exception as error:  # of several libraries
        reason = without_passwords(str(error).splitlines()[0])
        msg = f"{shown} cannot be read as a table of {kind} ({reason}): check the address"
        raise InvalidInputError(msg) from error


def _delta(place: str) -> pl.LazyFrame:
    from deltalake import DeltaTable

    return pl.scan_delta(DeltaTable(place))


def _iceberg(place: str) -> pl.LazyFrame:
    """Return the rows of a metadata file, or of a table by the names of its catalog and its own."""
    from pyiceberg.catalog import load_catalog
    from pyiceberg.table import StaticTable

    if find_spec("polars_iceberg") is None:  # or polars would recommend it
        os.environ.setdefault("POLARS_ICEBERG_PLANNER", "pyiceberg")
    catalog, _, name = place.partition(".")
    if "/" in place:
        return pl.scan_iceberg(StaticTable.from_metadata(place))
    return pl.scan_iceberg(load_catalog(catalog).load_table(name))


_KINDS: dict[str, Callable[[str], pl.LazyFrame]] = {"delta": _delta, "iceberg": _iceberg}
