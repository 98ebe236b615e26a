"""Short ways to write streams with early results, and what they put out."""

from __future__ import annotations

from typing import Any

from muntin import EarlyEmission, early, tumbling
from muntin.triggers import Trigger
from muntin.windows import WindowKind
from muntin_engine.evaluators.keyed.bucket import BatchResult
from tests.core.build import Feed, Total, output, query, row


def fed(
    emission: EarlyEmission | Trigger,
    window: WindowKind | None = None,
    module: Any = None,
    **properties: Any,
) -> Feed:
    """A bucket of windows of ten ticks that adds up what comes, from events without ids."""
    emit = early(emission) if isinstance(emission, Trigger) else emission
    given = {"has_ids": False} | properties
    return Feed(query(window or tumbling(10), module or Total(), emit=emit, **given))


def at(start: int, value: int = 1) -> Any:
    """A point event without an id."""
    return row(None, start, start + 1, value)


def fired(result: BatchResult) -> list[str]:
    """The output of a batch as text: `early 0 [0,10) 3`, with a minus for what is taken back."""
    return [
        f"{'-' * (change.kind == 'retract')}{change.timing} {change.firing} "
        f"[{change.window.start},{change.window.end}) {change.value[0]}"
        for change in output(result)
    ]
