"""Making windows: what all ways have in common, and windows that are a slice each."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Protocol

from muntin import Window
from muntin_engine.core.calls import RUNNING
from muntin_engine.evaluators.slices.adaptive import Monitor, Volume
from muntin_engine.evaluators.slices.key_names import key_of
from muntin_engine.evaluators.slices.modules import ModuleCallError
from muntin_engine.evaluators.slices.runs import WindowRuns
from muntin_engine.evaluators.slices.sliced_query import SlicedQuery
from muntin_engine.evaluators.slices.slices import Slices


class WindowCloser(Protocol):
    """Makes windows; keeps in mind what the next ones have in common with the last."""

    def close(self, first: int, last: int) -> WindowRuns:
        """Return the results of the windows from `first` up to but not including `last` that have members."""
        ...

    def held(self) -> int:
        """Return the number of states that it keeps besides those of the slices."""
        ...


class OneByOne:
    """For windows that are a slice each.

    Cost: one `compute_result` per key and window, and what it takes to add the rows that wait.
    """

    def __init__(self, query: SlicedQuery, place: int, slices: Slices, monitor: Monitor) -> None:
        self._query = query
        self._place = place
        self._slices = slices
        self._monitor = monitor

    def close(self, first: int, last: int) -> WindowRuns:
        """Return the results of windows."""
        grid, runs = self._query.grids[self._place], WindowRuns(self._place)
        volumes: dict[Hashable, Volume] = {}
        for number in self._slices.numbers(grid, grid.start_of(first), grid.start_of(last)):
            self._slices.settle(number)
            held = self._slices.by_number[number]
            names = list(held.states[0])
            extent = self._query.extent(number)

            def locate(place: int, names: list[Hashable] = names, extent: Window = extent) -> tuple[object, Window]:
                return key_of(names[place]), extent

            values: list[list[Any]] = []
            try:
                for module, states in zip(self._query.modules, held.states, strict=True):
                    RUNNING.many(module.label, locate)
                    values.append(module.results(states.values()))
            except ModuleCallError as failure:
                raise failure.located(names[failure.place], extent) from failure.__cause__
            runs.add_window(grid.runs.first_ending_after(number), names, values)
            volumes |= {name: Volume(name, rows, 1) for name, rows in held.counts.items()}
        self._monitor.closed(self._place, volumes.values())
        return runs

    def held(self) -> int:
        """Return the number of states that it keeps: none."""
        return 0
