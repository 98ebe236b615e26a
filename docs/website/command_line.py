"""What the commands of `muntin` say of themselves, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

import typer.core
import typer.main


def describe_command(name: str) -> str:
    """Return the section of a command: how it is called, what it does, its arguments and options.

    Args:
        name: `"muntin new"` and the like.

    Example:
        >>> print(describe_command("muntin doctor").splitlines()[0])
        ### muntin doctor --help
    """
    command = _commands()[name.removeprefix("muntin ")]
    context = typer.Context(command, info_name=name)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    parameters = [_parameter(parameter) for parameter in command.params]
    parts = [f"### {name} --help", f"```text\n{usage}\n```", command.help or "", "\n".join(parameters)]
    return "\n\n".join(part for part in parts if part)


def command_names() -> Iterator[str]:
    """Yield the commands that there are."""
    for name in _commands():
        yield f"muntin {name}"


def _commands() -> dict[str, typer.core.TyperCommand]:
    from muntin_cli import app

    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    return {name: command for name, command in group.commands.items() if isinstance(command, typer.core.TyperCommand)}


def _parameter(parameter: object) -> str:
    if isinstance(parameter, typer.core.TyperArgument):
        return f"- `{(parameter.name or '').upper()}`: {parameter.help or ''}"
    assert isinstance(parameter, typer.core.TyperOption)
    return f"- `{', '.join(parameter.opts)}`: {parameter.help or ''}"
