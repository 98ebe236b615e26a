"""What became of a run of the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.sdk.installation import Installation


@dataclass(frozen=True, slots=True)
class CommandRun:
    """A run of the command.

    Attributes:
        code: Exit code.
        output: Text on the standard output.
        errors: Text on the standard error.
    """

    code: int
    output: str
    errors: str

    @property
    def data(self) -> Any:
        """What it printed, as JSON."""
        return json.loads(self.output)


Run = Callable[..., CommandRun]
"""Runs the command with arguments, in this process."""

Offer = Callable[..., Installation]
"""Installs plugins, each by its name and with its source, and lets them be seen, and no others."""
