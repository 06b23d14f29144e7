"""Tables of Delta Lake and Iceberg, which list their current files in a log."""

import os
from importlib.util import find_spec
from pathlib import Path

import polars as pl

from suffice.core.text.lists import without_passwords
from suffice.data.frames.tables import frame_source
from suffice.data.source import Source
from suffice.errors import InvalidInputError, InvalidParameterError

_KINDS = ("delta", "iceberg")


def is_lakehouse(source: object) -> bool:
    """Return whether this is the address of a Delta Lake or Iceberg table."""
    return isinstance(source, (str, Path)) and _kind_and_place(str(source))[0] in _KINDS


def _kind_and_place(address: str) -> tuple[str, str]:
    """Return the kind and place of a table; a folder with a Delta log is a Delta table."""
    if Path(address, "_delta_log").is_dir():
        return "delta", address
    kind, _, place = address.partition(":")
    return kind, place


def lakehouse_source(address: str) -> Source:
    """Return a source for the version of a table that is the latest at opening."""
    kind, place = _kind_and_place(address)
    shown = without_passwords(address)
    try:
        rows = pl.scan_delta(place) if kind == "delta" else _iceberg(place)
        return frame_source(rows, shown)
    except ImportError as error:
        msg = f"{shown} needs the extra {kind!r}: pip install 'suffice[{kind}]'"
        raise InvalidParameterError(msg) from error
    except (
        Exception
    ) as error:  # several libraries raise errors here, without a common base class
        reason = without_passwords(str(error).splitlines()[0])
        msg = f"{shown} cannot be read as a table of {kind} ({reason}): check the address"
        raise InvalidInputError(msg) from error


def _iceberg(place: str) -> pl.LazyFrame:
    """Return the rows of a table, named by its metadata file or as catalog and table."""
    from pyiceberg.catalog import load_catalog

    if find_spec("polars_iceberg") is None:  # otherwise polars would recommend it
        os.environ.setdefault("POLARS_ICEBERG_PLANNER", "pyiceberg")
    if "/" in place:
        return pl.scan_iceberg(place)
    catalog, _, name = place.partition(".")
    return pl.scan_iceberg(load_catalog(catalog).load_table(name))
