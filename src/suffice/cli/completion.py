"""``suffice completion``: the script a shell needs."""

from __future__ import annotations

import click

from suffice.cli.command import Command


@click.command(
    "completion",
    cls=Command,
    examples=[
        "suffice completion bash > ~/.suffice-complete.bash",
        "suffice completion fish > ~/.config/fish/completions/suffice.fish",
    ],
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the script that completes commands in a shell."""
    from click.shell_completion import get_completion_class

    from suffice.cli.group import suffice

    script = get_completion_class(shell)
    if script is not None:
        click.echo(script(suffice, {}, "suffice", "_SUFFICE_COMPLETE").source())
