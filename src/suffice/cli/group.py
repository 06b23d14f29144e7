"""The group of subcommands, in the sections of ``suffice --help``."""

import difflib
import importlib

import click

from suffice import __version__

# Subcommands, with the first lines of their help. The lines are repeated here so that ``suffice
# --help`` imports no subcommand; a test keeps them equal. Each subcommand is an object in a module
# of the same name; the module of ``warm-up`` is ``warm_up``.
SECTIONS = {
    "Choose a classifier": {
        "report": "Write a page that says which classifier to use, how good it is, and why.",
        "compare": "Compare classifiers by cross-validation.",
        "plot": "Draw a figure of labelled rows, or of a model fitted to them.",
        "lecture": "Write a page that teaches LDA and logistic regression on your own table.",
        "lab": "Open a page for trying out classifiers: paint points and see the models change.",
    },
    "Fit and use a model": {
        "fit": "Fit a classifier and save it.",
        "predict": "Predict new rows: write label, posteriors, log density and outliers.",
        "show": "Show the contents of a model or moments file.",
        "boundary": "Print where two classes are equally probable.",
        "sample": "Draw rows from a fitted model.",
        "drift": "Test whether new rows differ from those that a model was fitted to.",
        "export": "Write a model in a format that other programs read.",
    },
    "Keep sums of rows": {
        "summarize": "Save the statistics (moments) of labelled rows, for Gaussian models.",
        "merge": "Add the moments of several files.",
        "forget": "Remove rows exactly from moments or from a model.",
        "store": "Store the moments of days, sites or tenants, and fit any combination.",
    },
    "Prove removal, protect privacy": {
        "grid": "Propose the rounding grid that exact sums need.",
        "verify": "Check that removed rows left no trace in the sums.",
        "key": "Create a private key for a party, and print its public key.",
        "mask": "Mask the exact sums of one party, so that only totals can be read.",
    },
    "Other": {
        "datasets": "List the built-in datasets, or write one.",
        "warm-up": "Compile and cache the code that later commands need.",
    },
}
COMMANDS = tuple(name for section in SECTIONS.values() for name in section)

HELP = """Find out which classifier to trust on a table, and why.

DATA is a CSV, TSV, Parquet, Feather, JSON Lines or Excel file, or several of them. It can also be a
glob such as 'data/*.parquet', a built-in dataset such as iris, or "-" for standard input.

\b
Examples:
  suffice report iris
  suffice fit iris -o iris.suffice
  suffice predict iris.suffice iris -o predictions.csv

\b
Exit codes:
  0    done
  1    the data or a file cannot be used; one line on standard error says why
  2    usage error
  130  interrupted, 143 terminated, 129 hung up; output files are unchanged
  141  broken pipe: the reader of standard output closed it
"""


class LazyGroup(click.Group):
    """A group that imports the module of a subcommand only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        module = importlib.import_module(f"suffice.cli.{name}")
        command: click.Command = getattr(module, name)
        return command

    def resolve_command(
        self,
        ctx: click.Context,
        args: list[str],
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and name not in COMMANDS:
            similar = difflib.get_close_matches(name, COMMANDS, 1)
            if similar:
                ctx.fail(f"there is no command '{name}': did you mean '{similar[0]}'?")
            ctx.fail(f"there is no command '{name}': see 'suffice --help'")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()))


@click.group(
    cls=LazyGroup, help=HELP, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="suffice")
def suffice() -> None:
    """Run a subcommand."""
