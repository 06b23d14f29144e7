"""Options that several subcommands share, each in a section of ``--help``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from suffice.cli.data import ColumnOptions, Data

Function = Callable[..., None]
Decorator = Callable[[Function], Function]

# the sections of --help, in their order
COLUMNS = "Columns"
TEXT_FILES = "Reading text files"
DATABASES = "Databases"
PARTITIONS = "Partitions"
MODEL = "The model"
VALIDATION = "Cross-validation"
FIGURE = "The figure"
OUTPUT = "Output"
SECTIONS = (COLUMNS, TEXT_FILES, DATABASES, PARTITIONS, MODEL, VALIDATION, FIGURE, OUTPUT)


class SectionOption(click.Option):
    """An option that ``--help`` shows in a section."""

    def __init__(self, *args: Any, section: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


def option(
    *names: str,
    section: str,
    help: str,
    metavar: str | None = None,
    type: click.ParamType[Any] | None = None,
    default: object = None,
    multiple: bool = False,
    required: bool = False,
) -> Decorator:
    """Declare an option with a value."""
    # click treats default=None as a value, so only options with a default may pass ``default``
    if default is None:
        return click.option(
            *names,
            cls=SectionOption,
            section=section,
            help=help,
            metavar=metavar,
            type=type,
            multiple=multiple,
            required=required,
        )
    return click.option(
        *names,
        cls=SectionOption,
        section=section,
        help=help,
        metavar=metavar,
        type=type,
        multiple=multiple,
        required=required,
        default=default,
        show_default=True,
    )


def flag(*names: str, section: str, help: str, default: bool | None = False) -> Decorator:
    """Declare a flag, or a pair of flags such as ``--header/--no-header``."""
    is_flag = None if "/" in names[0] else True
    return click.option(
        *names,
        cls=SectionOption,
        section=section,
        help=help,
        default=default,
        is_flag=is_flag,
    )


def several(*names: str, section: str, metavar: str, help: str) -> Decorator:
    """Declare an option that may be given several times."""
    return option(*names, section=section, metavar=metavar, help=help, multiple=True)


def choice(
    *names: str,
    section: str,
    of: Iterable[str],
    help: str,
    metavar: str | None = None,
    default: str | None = None,
) -> Decorator:
    """Declare an option with a fixed set of values."""
    return option(
        *names,
        section=section,
        help=help,
        metavar=metavar,
        type=click.Choice(list(of)),
        default=default,
    )


def combined(*decorators: Decorator) -> Decorator:
    """Return several declarations as one; ``--help`` keeps their order."""

    def decorate(function: Function) -> Function:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def data_argument(
    name: str = "data",
    *,
    required: bool = True,
    nargs: int = 1,
) -> Decorator:
    """Declare the argument DATA: a path, a glob, an address, - or a built-in dataset.

    With ``nargs`` −1, the argument takes several files, because shells expand unquoted globs.
    """
    return click.argument(name, required=required, nargs=nargs, shell_complete=_complete_data)


def _complete_data(
    _: click.Context,
    __: click.Parameter,
    incomplete: str,
) -> list[CompletionItem]:
    """Return built-in datasets and files that complete a word in a shell."""
    from suffice.data.datasets import names

    items = [CompletionItem(name) for name in names() if name.startswith(incomplete)]
    items.append(CompletionItem(incomplete, type="file"))
    return items


target_option = option(
    "-t",
    "--target",
    section=COLUMNS,
    metavar="COLUMN",
    help="The column that holds the labels.",
)
_column_options = combined(
    target_option,
    several(
        "-f",
        "--feature",
        "features",
        section=COLUMNS,
        metavar="COLUMN",
        help="A column to use as a feature; repeat for more. By default, every informative "
        "column.",
    ),
    several(
        "-i",
        "--ignore",
        section=COLUMNS,
        metavar="COLUMN",
        help="A column to leave out; repeat for more.",
    ),
    option(
        "--weight",
        section=COLUMNS,
        metavar="COLUMN",
        help="The column that holds row weights.",
    ),
    several(
        "--id",
        "ids",
        section=COLUMNS,
        metavar="COLUMN",
        help="A column that identifies rows; repeat for more. By default, the columns that "
        "look like ids.",
    ),
    several(
        "--categorical",
        section=COLUMNS,
        metavar="COLUMN",
        help="A column whose numbers are codes of categories; repeat for more.",
    ),
    choice(
        "--target-kind",
        section=COLUMNS,
        of=["class"],
        help="Treat every label as the name of a class, even a number such as 0.5. Labels "
        "that differ by case, such as a and A, are then different classes.",
    ),
    flag(
        "--merge-labels",
        section=COLUMNS,
        help="Merge labels that differ only by case, blanks or the spelling of yes and no.",
    ),
)
_reading_options = combined(
    option(
        "--delimiter",
        section=TEXT_FILES,
        metavar="CHARACTER",
        help="Character that separates cells. By default it is detected.",
    ),
    several(
        "--na",
        "na_values",
        section=TEXT_FILES,
        metavar="TEXT",
        help="Another spelling of a missing value, such as -999; repeat for more.",
    ),
    choice(
        "--decimal",
        section=TEXT_FILES,
        of=".,",
        help="Decimal mark of numbers. By default it is detected for each column.",
    ),
    choice(
        "--thousands",
        section=TEXT_FILES,
        of=",. '",
        help="Thousands separator of numbers. By default it is detected for each column.",
    ),
    flag(
        "--header/--no-header",
        section=TEXT_FILES,
        default=None,
        help="Whether the first line holds column names. By default it is detected.",
    ),
    option(
        "--skip-rows",
        section=TEXT_FILES,
        metavar="N",
        type=click.IntRange(0),
        help="Number of lines to skip before the table.",
    ),
    option(
        "--comment",
        section=TEXT_FILES,
        metavar="TEXT",
        help="Skip lines that begin with this text, such as #.",
    ),
    option(
        "--encoding",
        section=TEXT_FILES,
        metavar="NAME",
        help="Encoding of the text, such as utf-16 or latin-1. By default it is detected.",
    ),
    option(
        "--table", section=DATABASES, metavar="NAME", help="Read this table of the database."
    ),
    option(
        "--query",
        section=DATABASES,
        metavar="SQL",
        help="Read the rows that this database query returns.",
    ),
)


def learning_data(function: Function) -> Function:
    """Declare DATA and options for labelled rows; the command gets one ``Data``."""

    @functools.wraps(function)
    def with_data(
        *args: object,
        data: tuple[str, ...],
        target: str | None,
        features: tuple[str, ...],
        ignore: tuple[str, ...],
        weight: str | None,
        ids: tuple[str, ...],
        categorical: tuple[str, ...],
        target_kind: str | None,
        merge_labels: bool,
        **others: object,
    ) -> None:
        columns = _given(
            target=target,
            features=features,
            ignore=ignore,
            weight=weight,
            ids=ids,
            categorical=categorical,
            target_kind=target_kind,
            merge_labels=merge_labels or None,
        )
        rows = Data(
            name=data[0],
            columns=cast(ColumnOptions, columns),
            reading=_take_reading_options(others),
            others=data[1:],
        )
        function(*args, data=rows, **others)

    return combined(data_argument(nargs=-1), _column_options, _reading_options)(with_data)


def new_data(function: Function) -> Function:
    """Declare DATA and options for rows without labels; the command gets one ``Data``."""

    @functools.wraps(function)
    def with_data(*args: object, data: tuple[str, ...], **others: object) -> None:
        reading = _take_reading_options(others)
        rows = Data(name=data[0], reading=reading, others=data[1:])
        function(*args, data=rows, **others)

    return combined(data_argument(nargs=-1), _reading_options)(with_data)


def _take_reading_options(options: dict[str, object]) -> dict[str, object]:
    """Remove the options on reading from ``options``, and return those that are given."""
    return _given(
        delimiter=options.pop("delimiter"),
        na_values=options.pop("na_values"),
        decimal=options.pop("decimal"),
        thousands=options.pop("thousands"),
        header=options.pop("header"),
        skip_rows=options.pop("skip_rows"),
        comment=options.pop("comment"),
        encoding=options.pop("encoding"),
        table=options.pop("table"),
        query=options.pop("query"),
    )


def _given(**options: object) -> dict[str, object]:
    """Return the options given on the command line."""
    return {name: value for name, value in options.items() if value not in (None, ())}


class OutputFile(click.Path):
    """The type of an option for an output file; with ``urls``, it may be a URL."""

    def __init__(self, *, urls: bool = False) -> None:
        super().__init__(path_type=Path, dir_okay=False)
        self._urls = urls

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | Path:
        if self._urls and "://" in str(value):
            return str(value)
        path = Path(str(super().convert(value, param, ctx)))
        if not path.parent.is_dir():
            self.fail(f"there is no folder '{path.parent}': create it first", param, ctx)
        return path


def output(help: str, *, required: bool = False, urls: bool = False) -> Decorator:
    """Declare the option ``-o``, which names the file to write."""
    return option(
        "-o",
        "--output",
        section=OUTPUT,
        help=help,
        metavar="FILE",
        type=OutputFile(urls=urls),
        required=required,
    )


def other_output(name: str, help: str) -> Decorator:
    """Declare an option other than ``-o`` for an output file."""
    return option(name, section=OUTPUT, help=help, metavar="FILE", type=OutputFile())


def file_argument(name: str, *, nargs: int = 1) -> Decorator:
    """Declare an argument for a model or moments file, or for several if ``nargs`` is −1."""
    return click.argument(name, type=click.Path(path_type=Path), nargs=nargs, required=True)


sums_options = combined(
    choice(
        "--storage",
        section=OUTPUT,
        of=["auto", "per-class", "pooled", "diagonal"],
        default="auto",
        help="Which scatter matrices to keep; auto keeps one for each class if memory allows.",
    ),
    flag(
        "--fourth",
        section=OUTPUT,
        help="Also keep the fourth moments, which Ledoit-Wolf shrinkage needs.",
    ),
)
fold_options = combined(
    option(
        "--cv",
        section=VALIDATION,
        metavar="N",
        type=click.IntRange(2),
        help="Number of folds. By default 10, or 5 for large tables.",
    ),
    option(
        "--groups",
        section=VALIDATION,
        metavar="COLUMN",
        help="Column that identifies groups, such as persons. Folds hold out whole groups. "
        "The column is not used as a feature.",
    ),
)
time_option = option(
    "--time",
    section=VALIDATION,
    metavar="COLUMN",
    help="Column of times. Models are fitted to earlier rows and evaluated on later ones. "
    "The column is not used as a feature.",
)


def seed_option(section: str, help: str, default: int | None = 0) -> Decorator:
    """Declare the option ``--seed``."""
    return option(
        "--seed",
        section=section,
        metavar="N",
        help=help,
        default=default,
        type=click.IntRange(min=0),
    )


def is_given(ctx: click.Context, name: str) -> bool:
    """Return whether the user gave an option on the command line."""
    return ctx.get_parameter_source(name) is not ParameterSource.DEFAULT
