"""The report of a broken law."""

from __future__ import annotations

from muntin.errors import ModuleError


class LawError(ModuleError, AssertionError):
    """A module does not keep a law of its base class; the module writer must act.

    Attributes:
        law: The law's name, for example `"order does not matter"`.
        module: The module's name and version.
        stream: The smallest stream found that shows it, as a time line; empty if no stream is needed.
        method: The method that raised, or `call` for a function; empty if none did.
    """

    def __init__(self, law: str, statement: str, module: str, facts: str, stream: str, remedy: str) -> None:
        self.law = law
        self.module = module
        self.stream = stream
        self.method = ""
        lines = [f"{module} breaks the law: {law}", statement, facts]
        lines += ["smallest stream:", _indented(stream)] if stream else []
        super().__init__("\n".join([lines[0], *(_indented(line) for line in [*lines[1:], f"to do: {remedy}"])]))


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
