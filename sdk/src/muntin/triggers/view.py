"""The view that a trigger has of a window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from muntin.axis import EARLIEST


@dataclass(frozen=True, slots=True)
class TriggerView:
    """The changes of one window in one micro-batch, and the watermark and clock after it.

    Attributes:
        max_event_time: The larger of the watermark and the largest start seen, of all keys.
        watermark: The tick below which the input is complete: no later change has a smaller sync time.
        clock: The latest reading of a clock that the input brought, in microseconds since the epoch; `EARLIEST` while
            it brought none. It is data and no wall clock, so a replay makes the same decisions.
        came: The number of members that are new in the window.
        left: The number of members that it lost.
        newest: The largest start among the new members; `EARLIEST` if there is none.
        signals: The names of the external events that the input brought.
        values: By each expression in the trigger's `reads`, its values in the new members, ordered by their start.
        results: By each name in the trigger's `reads_results`, the result that the whole window has now.
    """

    max_event_time: int = EARLIEST
    watermark: int = EARLIEST
    clock: int = EARLIEST
    came: int = 0
    left: int = 0
    newest: int = EARLIEST
    signals: frozenset[str] = frozenset()
    values: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    results: Mapping[str, Any] = field(default_factory=dict)
