"""``suffice forget``: remove rows from sums or from a model."""

from __future__ import annotations

from pathlib import Path

import click

import suffice
from suffice.cli.command import subcommand
from suffice.cli.data import Data, refuse_target_of_sums, require_method
from suffice.cli.options import file_argument, other_output, output, target_option
from suffice.cli.terminal import Terminal
from suffice.core.text.lists import counted
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.persistence.receipt import Receipt


@subcommand(
    "suffice forget all.moments site-a.moments -o rest.moments",
    "suffice forget model.suffice withdrawn.csv --target species -o model.suffice",
    "suffice forget exact.moments withdrawn.csv --target species -o rest.moments "
    "--receipt proof.json",
    may_replace="total",
    may_overwrite=("moments", "model"),
)
@file_argument("total")
@click.argument("parts", nargs=-1, required=True)
@target_option
@output("The file to write, of the same kind as TOTAL.", required=True)
@other_output(
    "--receipt",
    "Write digests that prove which rows were removed; TOTAL must hold exact sums.",
)
def forget(
    terminal: Terminal,
    /,
    total: Path,
    parts: tuple[str, ...],
    target: str | None,
    output: Path,
    receipt: Path | None,
) -> None:
    """Remove rows exactly from moments or from a model.

    TOTAL is a moments or model file; PARTS are moments files, or rows in any data format.
    """
    refuse_target_of_sums(parts, target)
    loaded = suffice.load(total)
    if isinstance(loaded, suffice.CountSums):
        raise InvalidInputError(
            f"{total} holds sums of counts, which do not say how rows were counted: forget the "
            "rows from a model that was fitted to these sums"
        )
    if isinstance(loaded, suffice.CountNB | suffice.MixedNB):
        if receipt is not None:
            raise InvalidParameterError(
                f"--receipt needs exact sums, but {total} holds a {type(loaded).__name__}, which "
                "has none: leave out --receipt"
            )
        _forget_rows(loaded, parts, target, terminal, output)
        return
    if isinstance(loaded, suffice.Moments):
        before = loaded
    else:
        before = require_method(loaded, "moments_", total, "fit it again").moments_
    removed = _sums_of(parts[0], before, target, terminal)
    for part in parts[1:]:
        removed = removed + _sums_of(part, before, target, terminal)
    after = before - removed
    proof = None if receipt is None else Receipt.of(before, removed, after)
    if isinstance(loaded, suffice.Moments):
        after.save(output)
    else:
        loaded.fit_moments(after).save(output)
    if proof is not None and receipt is not None:
        proof.save(receipt)
    n_left = int(after.counts.sum())
    n_forgotten = int(before.counts.sum()) - n_left
    terminal.written(
        output,
        f"{counted(n_forgotten, 'row')} forgotten, {n_left:,} left",
        forgotten=n_forgotten,
        rows=n_left,
    )


def _forget_rows(
    model: suffice.CountNB | suffice.MixedNB,
    parts: tuple[str, ...],
    target: str | None,
    terminal: Terminal,
    output: Path,
) -> None:
    """Remove rows from a model that counts levels, events or words."""
    from sklearn.utils import get_tags

    from suffice.data.predict import notations_for

    before = int(model.moments_.counts.sum())
    tags = get_tags(model).input_tags
    for part in parts:
        if isinstance(model, suffice.CountNB) and model.text is not None:
            texts = Data(part, {"target": target}).texts(model.text)
            model.forget(texts.kept, texts.table.labels, texts.table.weight)
            continue
        features = model.moments_.feature_names
        data = Data(
            part,
            {"target": target, "features": features},
            notations=notations_for(model.model_),
        )
        rows = data.rows(
            categories=tags.categorical or tags.string, allow_missing=tags.allow_nan
        )
        model.forget(rows.frame, rows.table.labels, rows.table.weight)
    left = int(model.moments_.counts.sum())
    model.save(output)
    terminal.written(
        output,
        f"{counted(before - left, 'row')} forgotten, {left:,} left",
        forgotten=before - left,
        rows=left,
    )


def _sums_of(
    part: str,
    total: suffice.Moments,
    target: str | None,
    terminal: Terminal,
) -> suffice.Moments:
    """Return the sums in a file, or the sums of its rows over the columns of ``total``."""
    data = Data(part)
    if not data.holds_sums:
        # A schema also fixes the levels of categories, and columns that are constant in the part
        # are kept.
        features = total.schema or total.feature_names
        notations = total.notations.common() if total.notations else {}
        data = Data(part, {"target": target, "features": features}, notations=notations)
    return data.sums(
        terminal,
        storage=total.storage,
        fourth=total.fourth is not None,
        exact=None if total.exact is None else total.exact.grid,
    )
