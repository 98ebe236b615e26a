"""Making windows of several slices each."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from muntin_engine.core.calls import RUNNING
from muntin_engine.core.window_grid import NEVER
from muntin_engine.evaluators.slices.adaptive import Monitor, Volume
from muntin_engine.evaluators.slices.key_names import key_of
from muntin_engine.evaluators.slices.modules import ModuleCallError, SlicedModule, State
from muntin_engine.evaluators.slices.runs import WindowRuns
from muntin_engine.evaluators.slices.sliced_query import SlicedQuery
from muntin_engine.evaluators.slices.slices import Slices
from muntin_engine.evaluators.slices.sliding import Sliding, slide
from muntin_engine.evaluators.slices.steps import SlideStep, steps_of


@dataclass(slots=True)
class _Queue:
    """The slices of a key that are in its next window.

    Attributes:
        numbers: The slices.
        sliding: By module, their merged states; none while the rows of the key are kept as they are.
    """

    numbers: list[int] = field(default_factory=list)
    sliding: list[Sliding] = field(default_factory=list)


class Overlapping:
    """Makes the windows of each key over the slices that it has.

    Cost: per key a constant number of calls for each of its slices and of its windows, whatever size and hop; none for
    a window that has the same rows as the one before, and nothing for the time that lies between its rows. A key whose
    rows are kept as they are makes the states of its window anew, once per batch that closes any.
    """

    def __init__(self, query: SlicedQuery, place: int, slices: Slices, monitor: Monitor) -> None:
        self._query = query
        self._place = place
        self._grid = query.grids[place]
        self._slices = slices
        self._monitor = monitor
        self._queues: dict[Hashable, _Queue] = {}
        self._came_below = -NEVER

    def close(self, first: int, last: int) -> WindowRuns:
        """Return the results of the windows from `first` up to but not including `last` that have members."""
        coming, queues, runs = self._coming(first, last), self._queues, WindowRuns(self._place)
        volumes: list[Volume] = []
        for name in {**queues, **coming}:
            queue = queues.setdefault(name, _Queue())
            numbers = queue.numbers + coming.get(name, [])
            keeps_states = self._keeps_states(name, numbers)
            if not queue.sliding:
                queue.numbers, queue.sliding = [], list(map(slide, self._query.modules))
            steps = list(steps_of(self._grid, numbers, len(queue.numbers), first, last))
            self._make_windows(runs, name, numbers, queue, steps)
            if self._monitor.policy.is_adaptive:
                volumes.append(self._volume(name, numbers, queue, steps))
            queue.numbers = numbers[sum(step.leaving for step in steps) :]
            queue.sliding = queue.sliding if keeps_states else []
        self._queues = {name: queue for name, queue in queues.items() if queue.numbers}
        self._monitor.closed(self._place, volumes)
        return runs

    def held(self) -> int:
        """Return the number of states that it keeps besides those of the slices."""
        return sum(sliding.held() for queue in self._queues.values() for sliding in queue.sliding)

    def _coming(self, first: int, last: int) -> dict[Hashable, list[int]]:
        """Return by key the slices that come into these windows and were in none before."""
        low, high = max(self._grid.first_live(first), self._came_below), self._grid.first_legal(last)
        self._came_below = high
        coming: dict[Hashable, list[int]] = {}
        for number in self._slices.numbers(self._grid, low, high):
            if not self._monitor.policy.keeps_rows:
                self._slices.settle(number)
            for name in self._slices.by_number[number].names:
                coming.setdefault(name, []).append(number)
        return coming

    def _keeps_states(self, name: Hashable, numbers: list[int]) -> bool:
        """Return True if a key is evaluated by kept states; if so, all its rows are merged into states."""
        if not self._monitor.policy.keeps_rows:
            return True
        if name not in self._monitor.eager:
            return False
        for number in numbers:
            if name in self._slices.by_number[number].rows:
                self._slices.settle(number, [name])
        return True

    def _make_windows(
        self, runs: WindowRuns, name: Hashable, numbers: list[int], queue: _Queue, steps: list[SlideStep]
    ) -> None:
        """Move a key through its steps."""
        values: list[list[Any]] = []
        key = key_of(name)
        for place, (module, sliding) in enumerate(zip(self._query.modules, queue.sliding, strict=True)):
            states = self._slices.states_of(place, numbers[len(queue.numbers) :], name)
            if steps:
                RUNNING.one(module.label, key, self._grid.windows.window(steps[0].first))
            values.append(module.meter.sampled(self._slide)(name, module, sliding, states, steps))
        made = [step for step in steps if step.makes_windows]
        runs.add_key(name, [step.first for step in made], [step.last for step in made], values)

    def _slide(
        self, name: Hashable, module: SlicedModule, sliding: Sliding, states: list[State], steps: list[SlideStep]
    ) -> list[Any]:
        """Return a module's results for the steps that make windows."""
        results: list[Any] = []
        place = window = 0
        try:
            for window, last, leaving, coming, members in steps:
                if leaving:
                    sliding.pop(leaving)
                for state in states[place : place + coming]:
                    sliding.push(state)
                place += coming
                if members and last > window:
                    results.append(module.result(sliding.state()))
        except ModuleCallError as failure:
            raise failure.located(name, self._grid.windows.window(window)) from failure.__cause__
        return results

    def _volume(self, name: Hashable, numbers: list[int], queue: _Queue, steps: list[SlideStep]) -> Volume:
        """Return the volume of the key's last closed window."""
        low, high, members = 0, len(queue.numbers), []
        for step in steps:
            low, high = low + step.leaving, high + step.coming
            if step.makes_windows:
                members = numbers[low:high]
        rows = sum(self._slices.by_number[number].counts[name] for number in members)
        return Volume(name, rows, len(members))
