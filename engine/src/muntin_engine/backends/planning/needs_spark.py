"""The error for what a query in this process asks for and only Spark has."""

from __future__ import annotations

from typing import Any

from muntin.errors import QueryError


class NeedsSparkError(QueryError):
    """A query in this process asks for something that only Spark has.

    Attributes:
        used: The thing that it asks for, in words.
    """

    def __init__(self, used: str, message: str, **parts: Any) -> None:
        """Make an error.

        Args:
            used: The thing that the query asks for, in words.
            message: The message.
            parts: The parts of the message, by name.
        """
        self.used = used
        super().__init__(message, **parts)
