"""The exit codes of the command."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The outcome of a command."""

    OK = 0
    """All is well."""
    FINDINGS = 1
    """The command did its work, and the subject that it examined has faults."""
    USAGE = 2
    """The command cannot do what the arguments ask for; it did nothing."""
    ENVIRONMENT = 3
    """The machine or the Python environment lacks something that the command needs."""
