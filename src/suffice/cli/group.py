"""The group of subcommands, in the sections of ``suffice --help``."""

import difflib
import importlib

import click

from suffice import __version__

# each subcommand is the object of its name in its own module, ``warm-up`` in ``warm_up``
SECTIONS = {
    "Answer": ("report", "compare", "plot", "lab"),
    "Model": ("fit", "predict", "show", "boundary", "sample", "drift", "export"),
    "Sums": ("summarize", "merge", "forget", "store"),
    "Other": ("datasets", "warm-up"),
}
COMMANDS = tuple(name for names in SECTIONS.values() for name in names)

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
  2    usage error
  130  interrupted, 143 terminated, 129 hung up; output files are unchanged
  141  broken pipe: the reader of standard output closed it
"""


class LazyGroup(click.Group):
    """A group that imports the module of a subcommand when it is called or listed."""

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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, names in SECTIONS.items():
            lines = []
            for name in names:
                command = self.get_command(ctx, name)
                if command is not None:
                    lines.append((name, command.get_short_help_str(limit=200)))
            with formatter.section(title):
                formatter.write_dl(lines)


@click.group(
    cls=LazyGroup, help=HELP, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="suffice")
def suffice() -> None:
    """Run a subcommand."""
