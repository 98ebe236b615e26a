"""Errors of commands, and the exit code of each."""

from __future__ import annotations

from typing import ClassVar

from muntin.errors import ModuleError, MuntinError, PluginError
from muntin_cli.exit_codes import ExitCode


class CommandError(MuntinError):
    """A command cannot go on.

    Attributes:
        exit_code: Exit code of the command.
    """

    exit_code: ClassVar[ExitCode]


class UsageError(CommandError, ValueError):
    """The arguments ask for something that the command cannot do; whoever typed them must act."""

    exit_code = ExitCode.USAGE


class EnvironmentLacksError(CommandError, RuntimeError):
    """Something that the command needs is not installed, or does not work."""

    exit_code = ExitCode.ENVIRONMENT


def exit_code_of(error: MuntinError) -> ExitCode:
    """Return the exit code of a command that ends with an error.

    Example:
        >>> exit_code_of(UsageError("no folder is named 'x'"))
        <ExitCode.USAGE: 2>
    """
    if isinstance(error, CommandError):
        return error.exit_code
    if isinstance(error, ModuleError | PluginError):
        return ExitCode.FINDINGS
    # Errors of the SDK and the engine say by their Python base who must act: a `RuntimeError` is about the machine.
    return ExitCode.ENVIRONMENT if isinstance(error, RuntimeError) else ExitCode.USAGE
