"""The group of subcommands; their help lines stand here so that ``--help`` imports none."""

import difflib
import importlib
from typing import Any

import click

from suffice import __version__

# subcommand → its help in one line; a test keeps them the same as the commands' own
COMMANDS = {
    "report": "Write a page that says which classifier to use, how good it is, and why.",
    "compare": "Compare classifiers by cross-validation.",
    "fit": "Fit a classifier and save it.",
    "predict": "Write label, posteriors, log density and outliers for new rows.",
    "summarize": "Save the sums of labelled rows: all a Gaussian model needs.",
    "merge": "Add up the sums of several files.",
    "forget": "Take rows out of sums or of a model, as if never seen.",
    "store": "Keep the sums of days, sites or tenants apart, and fit any set of them.",
    "plot": "Draw a figure of labelled rows, or of a model fitted to them.",
    "drift": "Test whether new rows differ from those a model was fitted to.",
    "sample": "Draw rows from a fitted model.",
    "boundary": "Print where two classes are equally probable.",
    "show": "Show what is inside a model or moments file.",
    "export": "Write a model in a format that other programs read.",
    "datasets": "List the built-in data sets, or write one.",
    "lab": "Play with classifiers: paint points, see every model, descend, follow the course.",
    "warm-up": "Compile all that later commands need, and keep it.",
}

_MODULES = {  # where not of that name
    **dict.fromkeys(("summarize", "merge", "forget"), "moments"),
    **dict.fromkeys(("show", "boundary", "sample", "export"), "model"),
    **dict.fromkeys(("datasets", "lab", "warm-up"), "extras"),
    "drift": "predict",
    "compare": "report",
}

HELP = """Probabilistic classification from mergeable statistics.

DATA is a CSV, TSV, Parquet, Feather or JSON Lines file, a quoted glob such as
'data/*.parquet', - for standard input, or a built-in data set such as iris.

\b
Examples:
  suffice report iris
  suffice fit iris -o iris.suffice
  suffice predict iris.suffice iris -o answers.csv

\b
Exit codes:
  0    done
  1    the data or a file cannot be used; one line on standard error says why
  2    the command itself is written wrongly
  130  interrupted, 143 told to stop, 129 hung up; an output file is as it was before
  141  whoever read standard output stopped reading
"""


class LazyGroup(click.Group):
    """A group that imports the module of a subcommand only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module: Any = importlib.import_module(
            f"suffice.cli.{_MODULES.get(cmd_name, cmd_name)}"
        )
        return getattr(module, cmd_name.replace("-", "_"))  # type: ignore[no-any-return]

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            near = difflib.get_close_matches(args[0], COMMANDS, 1)
            hint = f"did you mean '{near[0]}'?" if near else "see 'suffice --help'"
            ctx.fail(f"there is no command '{args[0]}': {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup, help=HELP, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="suffice")
def suffice() -> None:
    """Run a subcommand."""
