"""Compute windows by calling modules under the query's policies: one window by itself, or many in one sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, cast

from muntin import INFINITY, ClipPolicy, Event, Window
from muntin.modules.aggregate import rows_of
from muntin_engine.evaluators.keyed.called_windows import CalledWindows
from muntin_engine.evaluators.keyed.clipping import Clipping
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.live_output import OutputRow
from muntin_engine.evaluators.keyed.module_calls import MethodCalls
from muntin_engine.evaluators.keyed.sequence import in_sequence
from muntin_engine.evaluators.keyed.sweep import SweptWindow
from muntin_engine.evaluators.keyed.timestamps import Timestamper
from muntin_engine.evaluators.keyed.window_extent import Extent, extent_of
from muntin_engine.modules.binding import Binding
from muntin_engine.modules.skipping import SKIPPED, Payloads, Present, payloads_of
from muntin_engine.plan.evaluator_query import EvaluatorQuery


class ModuleComputation(MethodCalls):
    """One module of a query, over members of windows. An exception inside it names module, key, window and method.

    Attributes:
        module: The module.
        is_incremental: True if the module keeps a state from one result to the next. A module that reads the order of
            events keeps one only where events come in that order: elsewhere a late event may belong before events that
            the state has already.
        can_remove: True if the module can remove events from a state: any, or the oldest if it reads their order.
        skips_rows: True if the module does not accept every payload.
        can_slide: True if the state of a window can be updated to that of the next one, at least if no event leaves.
            That is so if the module's view of an event does not depend on the window.
        lifetime: Returns a member's lifetime as the module sees it: see `Clipping`.
    """

    def __init__(
        self,
        binding: Binding,
        clip: ClipPolicy,
        extent: Extent | None = None,
        sort_key: Callable[[StoredEvent], tuple[Any, ...]] | None = None,
    ) -> None:
        """Prepare to call a module.

        Args:
            binding: The module.
            clip: The part of lifetimes that the module sees.
            extent: The function from windows to their extents; None if each window is its own extent.
            sort_key: Returns the sort key of an event in the order of the query; None where events come in that order.
        """
        super().__init__(binding, extent)
        module = binding.module
        self.module: Any = module

        # A module that skips payloads is called by a wrapper, which counts in its state how many were accepted.
        self._called = binding.called
        self.skips_rows = binding.called is not module

        # Events are sorted only for a module that reads their order.
        self._sort_key = sort_key if module.reads_order else None
        self.is_incremental = module.is_incremental and self._sort_key is None
        self.can_remove = self.is_incremental and hasattr(module, "remove_events")
        self.can_slide = self.is_incremental and not module.is_time_sensitive

        # The module's view of an event.
        self._select = binding.select
        self._clips = clip is not ClipPolicy.NONE
        self.lifetime = Clipping(clip, extent).lifetime
        self._reads_times = module.reads_times

        # The computation of its results, which become plain data unless they are already.
        self._plain = binding.plain
        self._compute = self._plain_results_of(self._called)

    @property
    def sees_events(self) -> bool:
        """True if payloads alone are not enough: the module sees times, or events are sorted by time for it."""
        return self._is_time_sensitive or self._sort_key is not None

    def payloads(self, columns: Sequence[list[Any]], count: int) -> Payloads:
        """Return the inputs of a module for rows that come as columns; not for a module that sees events.

        Args:
            columns: The columns of the payloads.
            count: The number of rows.
        """
        return payloads_of(self._select, columns, count)

    def inputs_of(self, events: Iterable[StoredEvent], window: Window) -> list[object]:
        """Return the module's inputs for members: their payloads, or events with clipped lifetimes.

        Members whose input the module skips, such as a null, are left out. A module that reads the order of events gets
        them in the order of the query; events that are equal in that order come in the order of their payloads. So the
        result does not depend on when members arrived.
        """
        # Comprehensions, as this runs for every member of every window.
        select = self._select
        if self._sort_key is not None:
            return self._inputs_in_order(events, window, self._sort_key)
        if not self._is_time_sensitive:
            if type(select) is Present:  # a column without its nulls, the most common input, takes no call per event
                place = select.place
                return [value for event in events if (value := event.payload[place]) is not None]
            return [payload for event in events if (payload := select(event.payload)) is not SKIPPED]
        accepted = [(event, payload) for event in events if (payload := select(event.payload)) is not SKIPPED]
        if not self._clips:
            return [Event(event.start, event.end, payload) for event, payload in accepted]
        return [Event(*self.lifetime(event.start, event.end, window), payload) for event, payload in accepted]

    def _inputs_in_order(
        self, events: Iterable[StoredEvent], window: Window, sort_key: Callable[[StoredEvent], tuple[Any, ...]]
    ) -> list[object]:
        """Return the module's inputs for members, in the order of the query."""
        select = self._select
        accepted = [(event, payload) for event in events if (payload := select(event.payload)) is not SKIPPED]
        if not self._is_time_sensitive:
            pairs = in_sequence(accepted, lambda pair: sort_key(pair[0]), content=itemgetter(1))
            return [payload for _, payload in pairs]
        clipped: list[tuple[StoredEvent, Event[Any]]] = []
        for event, payload in accepted:
            clipped.append((event, Event(*self.lifetime(event.start, event.end, window), payload)))
        # Payloads are compared before ends: an end may still move, and decides only between equal payloads.
        in_order = in_sequence(
            clipped, lambda pair: sort_key(pair[0]), content=lambda pair: (pair[1].payload, pair[1].end)
        )
        return [clipped_event for _, clipped_event in in_order]

    def sees_same(self, previous: StoredEvent, present: StoredEvent, window: Window) -> bool:
        """Return True if the module sees no difference between two versions of an event, so that its result stays.

        The versions have the same payload; their lifetimes may differ.
        """
        if not self._reads_times:
            return True
        previous_lifetime = self.lifetime(previous.start, previous.end, window)
        return previous_lifetime == self.lifetime(present.start, present.end, window)

    def add(self, state: object, events: Iterable[StoredEvent], key: object, window: Window) -> object:
        """Return the state after the module was given events that became members; it may be the same object."""
        inputs = self.inputs_of(events, window)
        if not inputs:
            return state
        return self.call("add_events", key, window, self._called.add_events, state, inputs)

    def remove(self, state: object, events: Iterable[StoredEvent], key: object, window: Window) -> object:
        """Return the state after the module took out events that are no longer members; it may be the same object."""
        inputs = self.inputs_of(events, window)
        if not inputs:
            return state
        return self.call("remove_events", key, window, self._called.remove_events, state, inputs)

    def build(self, members: Iterable[StoredEvent], key: object, window: Window) -> object:
        """Return the state of a window from all its members."""
        state = self.call("create_state", key, window, self._called.create_state)
        return self.add(state, members, key, window)

    def upgrade(self, state: object, version: str, key: object, window: Window) -> object:
        """Convert a state that an older version of the module wrote."""
        return self.call("upgrade_state", key, window, self._called.upgrade_state, state, version)

    def result_of_state(self, state: object, key: object, window: Window) -> object:
        """Return a result from a state."""
        return self.call("compute_result", key, window, self._compute, state)

    def result_of_members(self, members: Iterable[StoredEvent], key: object, window: Window) -> object:
        """Return a result from all members of a window."""
        return self.result_of_inputs(self.inputs_of(members, window), key, window)

    def result_of_inputs(self, inputs: list[object], key: object, window: Window) -> object:
        """Return a result from the module's inputs for all members of a window."""
        if not self.module.is_incremental:
            return self.call("compute_result", key, window, self._compute, inputs)
        state = self.call("create_state", key, window, self._called.create_state)
        if inputs:
            state = self.call("add_events", key, window, self._called.add_events, state, inputs)
        return self.result_of_state(state, key, window)

    def results_of_groups(self, payloads: Payloads, bounds: Sequence[int], windows: CalledWindows) -> list[Any]:
        """Return the result of each window from the payloads of all its rows; not for a module that sees events.

        Args:
            payloads: The payloads, window by window.
            bounds: The place of the first payload of each window, then the number of all payloads. No window is empty.
            windows: The windows.
        """
        groups = payloads.groups(bounds)
        if self.module.is_incremental:
            results: list[Any] = []
            for group, (key, window) in zip(groups, windows, strict=True):
                results.append(self.result_of_inputs(group, key, window))
            return results
        compute = self._compute
        if self.skips_rows and not payloads.has_skipped:
            # No payload is skipped: the module is called without the wrapper, which would count the accepted ones.
            compute = self._plain_results_of(self.module)
        return self.call_for_each("compute_result", windows, compute, groups)

    def _plain_results_of(self, module: Any) -> Callable[..., Any]:
        """Return a function that computes a result of a module, or of its wrapper, as plain data.

        The returned function is no method of this object: this object keeps the function, and a method would refer back
        to this object, which makes a cycle.
        """
        if self._plain is None and not self.module.is_operator:
            return cast(Callable[..., Any], module.compute_result)
        return _PlainResults(module, self._plain, is_operator=self.module.is_operator)


class _PlainResults:
    """Computes the results of a module as plain data; that of an operator is the list of its rows."""

    __slots__ = ("_is_operator", "_module", "_plain")

    def __init__(self, module: Any, plain: Callable[[Any], object] | None, *, is_operator: bool) -> None:
        """Prepare to compute results.

        Args:
            module: The module, or its wrapper. It may also be one without `compute_result`, such as a stream operator:
                then this object is made, but never called.
            plain: Makes plain data of a result, or of a row of an operator; None if these are plain data.
            is_operator: True if a result consists of rows.
        """
        self._module = module
        self._plain = plain
        self._is_operator = is_operator

    def __call__(self, *arguments: object) -> object:
        """Compute a result."""
        result = self._module.compute_result(*arguments)
        plain = self._plain
        if not self._is_operator:
            return result if plain is None else plain(result)
        rows = rows_of(result)
        return rows if plain is None else list(map(plain, rows))


class Slide:
    """Computes the results of one module along a sweep, in the cheapest way that the module allows.

    A state that does not depend on the window slides: events that left are removed, events that entered are added. It
    is rebuilt from the members where more events left than stayed, or where the module cannot remove those that left.
    """

    __slots__ = ("_computation", "_has_state", "_key", "_state")

    def __init__(self, computation: ModuleComputation, key: object) -> None:
        """Begin before the first window of a sweep."""
        self._computation = computation
        self._key = key
        self._state: Any = None  # the state of the last window
        self._has_state = False  # False if the last window had no members: None may be the state of a module

    def result(self, step: SweptWindow) -> Any:
        """Move the state on to a step that has members, and return the module's result for it."""
        computation = self._computation
        key = self._key
        window = step.window
        if not computation.can_slide:
            return computation.result_of_members(step.members.values(), key, window)
        if self._must_rebuild(step):
            state = computation.build(step.members.values(), key, window)
        else:
            state = self._state
            if step.departed:
                state = computation.remove(state, step.departed, key, window)
            state = computation.add(state, step.entered, key, window)
        self._state = state
        self._has_state = True
        return computation.result_of_state(state, key, window)

    def _must_rebuild(self, step: SweptWindow) -> bool:
        """Return True if the last state cannot be updated to a step, or if that costs more than to build it anew."""
        if not self._has_state or len(step.departed) > len(step.members):
            return True
        if not step.departed:
            return False
        computation = self._computation
        if not computation.can_remove:
            return True
        # A module that reads the order of events can remove the oldest ones alone.
        return computation.module.reads_order and not _are_oldest(step)

    def skip(self) -> None:
        """Skip a step whose result is not computed from the state; the state is built anew at the next step."""
        self._state = None
        self._has_state = False


def _are_oldest(step: SweptWindow) -> bool:
    """Return True if the rows that departed are older than all members.

    This holds for row windows alone: the ids of their rows are numbers in the order in which rows came, and `members`
    is in that order too.
    """
    oldest_member: Any = next(iter(step.members), INFINITY)
    return all(event.id < oldest_member for event in step.departed)


class WindowResults:
    """Computes the results of windows and gives them lifetimes.

    Attributes:
        extent: The function from windows to their extents; None if each window is its own extent.
        computations: The modules of the query.
        stamper: Gives results their lifetimes.
    """

    def __init__(self, query: EvaluatorQuery, *, in_order: bool = False) -> None:
        """Prepare to compute the windows of a query.

        Args:
            query: The query.
            in_order: True if events come in the order of the query, so that no module needs them sorted.
        """
        self.extent = extent_of(query)
        sort_key = None if in_order else query.place
        self.computations: list[ModuleComputation] = []
        for binding in query.bindings:
            self.computations.append(ModuleComputation(binding, query.clip, self.extent, sort_key))
        self.stamper = Timestamper(query)

    def slides(self, key: object) -> list[Slide]:
        """Return a `Slide` per module, which carries its state from window to window of a key."""
        return [Slide(computation, key) for computation in self.computations]

    def rows(self, key: object, steps: Iterable[SweptWindow]) -> Iterator[tuple[SweptWindow, list[OutputRow]]]:
        """Yield the steps of a sweep that have members, with their rows."""
        stamped = self.stamper.rows
        for step, values in self.values(key, steps):
            yield step, stamped(key, step.window, values)

    def values(self, key: object, steps: Iterable[SweptWindow]) -> Iterator[tuple[SweptWindow, list[Any]]]:
        """Yield the steps of a sweep that have members, with the result of each module."""
        slides = self.slides(key)
        for step in steps:
            if step.members:
                yield step, [slide.result(step) for slide in slides]
            else:
                for slide in slides:
                    slide.skip()  # a window without members has no state


def results_in_order(query: EvaluatorQuery) -> WindowResults:
    """Return the computation of windows for a query whose events come in order: a function to give to `query.once`."""
    return WindowResults(query, in_order=True)
