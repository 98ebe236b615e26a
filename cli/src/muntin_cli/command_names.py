"""The names of commands, and the words of other tools for what they do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from typer.core import TyperGroup

COMMAND_BY_WORD: Final[Mapping[str, str]] = {
    **dict.fromkeys(("list", "ls", "plugins", "functions"), "modules"),
    **dict.fromkeys(("create", "init", "start"), "new"),
    **dict.fromkeys(("lint", "test", "validate", "verify"), "check"),
    **dict.fromkeys(("explain", "info", "inspect", "show"), "describe"),
    "sql": "query",
    "view": "look",
}
"""The command that corresponds to a word of another tool; typer itself suggests words that are spelled alike."""


class CommandGroup(TyperGroup):
    """The commands; for the word of another tool, the error suggests the command that corresponds to it."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments begin with."""
        word = args[0]
        if word in COMMAND_BY_WORD and self.get_command(ctx, word) is None:
            ctx.fail(f"No such command {word!r}. Did you mean {COMMAND_BY_WORD[word]!r}?")
        return super().resolve_command(ctx, args)
