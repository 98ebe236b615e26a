"""The plans of DataFrames of Spark Connect, as they are sent to the server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def reads_of(relation: Any) -> Iterator[Any]:
    """Yield the parts of a plan that read something: tables, files and other sources.

    Args:
        relation: The plan, as a message of Protocol Buffers.
    """
    messages = [relation]
    while messages:
        message = messages.pop()
        if message.DESCRIPTOR.name == "Read":
            yield message
        for field, value in message.ListFields():
            if field.message_type is None or field.message_type.GetOptions().map_entry:
                continue  # a plain value, or a map of options: neither has parts of the plan in it
            messages += value if field.is_repeated else [value]
