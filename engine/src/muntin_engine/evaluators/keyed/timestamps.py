"""Give the results of a window their lifetimes, by the timestamp policy of the query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muntin import INFINITY, Event, TimestampPolicy, Window
from muntin.query_checks import check_start
from muntin_engine.evaluators.keyed.live_output import OutputRow
from muntin_engine.evaluators.keyed.window_extent import extent_of
from muntin_engine.plan.evaluator_query import EvaluatorQuery


class Timestamper:
    """Turns the results of a window into rows with lifetimes."""

    def __init__(self, query: EvaluatorQuery) -> None:
        """Prepare to give the results of a query their lifetimes."""
        self._policy = query.timestamps
        self._is_operator = query.is_operator
        self._module = query.bindings[0].module
        self._has_window_lifetimes = not query.timestamps.is_set_by_module
        # Time-bound output does not start before the tick at which a window's members are known.
        self._known_at = query.window.known_at if query.is_cut_at_changes else None
        self._extent = extent_of(query)

    def rows(self, key: object, window: Window, results: Sequence[Any]) -> list[OutputRow]:
        """Return the rows of a window, with their lifetimes.

        Args:
            key: The key of the window, for errors.
            window: The window.
            results: The rows that the query's operator returned, as the only item; or the result of each aggregate.

        Raises:
            ModuleContractError: A module's output starts before its window, and the policy keeps it.
        """
        if self._extent is not None:
            window = self._extent(window)
        start = window.start
        end = window.end
        if self._policy is TimestampPolicy.POINT_AT_END:
            if end == INFINITY:
                return []  # a window without an end has no point at it
            start = end
            end = start + 1
        elif self._known_at is not None:
            # Time-bound output: a kind may say the tick at which all members of a window are known.
            known_at = self._known_at(window)
            start = start if known_at is None else known_at

        if not self._is_operator:
            return [OutputRow(start, end, tuple(results))]
        rows: list[OutputRow] = []
        for value in results[0]:
            if not isinstance(value, Event):
                rows.append(OutputRow(start, end, value))
            elif self._has_window_lifetimes:
                rows.append(OutputRow(start, end, value.payload))
            elif self._policy is TimestampPolicy.UNCHANGED:
                check_start(self._module, value, window, key)
                rows.append(OutputRow(value.start, value.end, value.payload))
            else:  # the policy clips lifetimes to the window, and drops those outside it
                clipped_start = max(value.start, start)
                clipped_end = min(value.end, end)
                if clipped_start < clipped_end:
                    rows.append(OutputRow(clipped_start, clipped_end, value.payload))
        return rows
