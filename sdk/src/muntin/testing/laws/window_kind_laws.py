"""The laws of kinds of windows."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count, islice, pairwise, starmap, takewhile
from typing import Any, ClassVar, Final, NamedTuple

from hypothesis import strategies as st

from muntin.axis import EARLIEST, INFINITY
from muntin.drawings import Bar
from muntin.testing.laws.conformance import Conformance, law
from muntin.testing.laws.trial import Law, Trial
from muntin.windows import Periods, Stretches, WindowContext, WindowKind
from muntin.windows.extent import Window
from muntin.windows.kind import next_frontier
from muntin.windows.regular import GrowingSteps, RegularWindows

MOST_WINDOWS: Final = 20_000
"""The number of windows of a cut beyond which it is taken for endless."""

_FIRST_STEP: Final = -60
_LAST_STEP: Final = 160
"""The steps between which windows are compared: around all events that are drawn, with room for long windows."""

Lifetime = tuple[int, int]


class ContinuedStream(NamedTuple):
    """A stream up to a watermark and some time after it.

    Attributes:
        history: The events that are known at the watermark.
        watermark: The watermark.
        later_events: The events some time later: those that stayed, with their ends, and new ones.
    """

    history: list[Lifetime]
    watermark: int
    later_events: list[Lifetime]


class WindowKindTrial(Trial):
    """Draws events of one key, and their changes after a watermark.

    Attributes:
        kind: The windows.
        scale: The number of ticks in a step.
        start: The first tick of the part of the axis that may have events.
        end: The tick after that part.
    """

    def __init__(self, law: Law, laws: Any, data: object) -> None:
        """Prepare an attempt; the arguments are those of `Trial`."""
        super().__init__(law, laws, data)
        self.kind = self.fresh_copy()
        self.scale: int = laws.scale
        self.start = _FIRST_STEP * self.scale
        self.end = _LAST_STEP * self.scale
        # Events that come later are numbered from here on, above those of any history. No number is drawn twice, so a
        # new event is never taken for one that was forgotten.
        self._later_numbers = count(1_000)

    def fresh_copy(self) -> WindowKind:
        """Return a fresh copy of the windows, without anything cached."""
        kind: WindowKind = replace(self.tested)
        return kind

    def tick(self) -> int:
        """Draw a tick near the events."""
        return self.draw(st.integers(-15, 60)) * self.scale + self._near()

    def lifetime(self) -> Lifetime:
        """Draw the lifetime of an event, and note it in the report."""
        start = self.draw(st.integers(-10, 40)) * self.scale + self._near()
        length = self.draw(st.sampled_from([1, 1, 2, 5, 9, 20, None]))  # in steps; None for an event without an end
        end = INFINITY if length is None else start + max(1, length * self.scale + self._near())
        self.stream.append(Bar("event", start, end))
        return start, end

    def history(self) -> list[Lifetime]:
        """Draw the events that are known."""
        return [self.lifetime() for _ in range(self.draw(st.integers(0, 7)))]

    def continued(self) -> ContinuedStream:
        """Draw events, a watermark, and the events some time after it."""
        history = self.history()
        watermark = self.tick()
        later = self.later(dict(enumerate(history)), watermark)
        return ContinuedStream(history, watermark, list(later.values()))

    def later(self, events: Mapping[int, Lifetime], watermark: int) -> dict[int, Lifetime]:
        """Draw changes that a watermark still allows, and return all events as they are after these changes.

        Args:
            events: The lifetimes of the events at the watermark, by their numbers.
            watermark: The watermark.
        """
        self.stream.append(f"watermark {watermark}")
        later_events = dict(events)

        # Known events stay, get another end, or go; nothing may change the axis before the watermark.
        for id, (start, end) in events.items():
            change = self.draw(st.sampled_from(["stays", "stays", "ends", "goes"]))  # half of them stay
            if change == "goes" and start >= watermark:
                del later_events[id]
                self.stream.append(Bar("goes", start, end))
            elif change == "ends" and end >= watermark:
                earliest_end = max(watermark, start + 1)
                later_end = earliest_end + self.draw(st.integers(0, 20)) * self.scale
                new_end = self.draw(st.sampled_from([earliest_end, later_end, INFINITY]))
                later_events[id] = (start, new_end)
                self.stream.append(Bar("ends", start, new_end))
        # New events start at the watermark or later; some have no end.
        for _ in range(self.draw(st.integers(0, 3))):
            ticks_after_a_step = abs(self._near())  # not before the step, which may be the watermark itself
            start = watermark + self.draw(st.integers(0, 20)) * self.scale + ticks_after_a_step
            length = self.draw(st.sampled_from([1, 2, 9, None]))
            end = INFINITY if length is None else start + length * self.scale
            later_events[next(self._later_numbers)] = (start, end)
            self.stream.append(Bar("comes", start, end))
        return later_events

    def limit(self, watermark: int) -> int:
        """Return the tick up to which windows are settled at a watermark."""
        # Where ends move, an event may still prolong a window that ends at the watermark itself.
        return watermark - 1 if self.kind.ends_move else watermark

    def stretch(self, event: Lifetime) -> Lifetime:
        """Return the stretch on which an event counts."""
        start, end = self.ask("membership", *event)
        return start, end

    def members(self, events: Iterable[Lifetime]) -> list[Lifetime]:
        """Return the stretches of events, without events that count nowhere."""
        stretches: list[Lifetime] = []
        for event in events:
            start, end = self.stretch(event)
            if start < end:
                stretches.append((start, end))
        return stretches

    def stretches(self, events: Iterable[Lifetime]) -> Stretches:
        """Return the stretches of events, none of which was forgotten."""
        return Stretches(self.members(events))

    def cut(
        self, stretches: Stretches, start: int | None = None, end: int | None = None, kind: WindowKind | None = None
    ) -> list[Window]:
        """Return the windows that share a tick with a part of the axis.

        Args:
            stretches: The stretches of events that cut the axis.
            start: The start of the part; by default that of the part that may have events.
            end: The end of the part; by default that of the part that may have events.
            kind: The windows; by default those under test.
        """
        cutting_kind = self.kind if kind is None else kind
        if start is None:
            start = self.start
        if end is None:
            # Only a kind that waits for events has finitely many windows on the rest of the axis.
            end = INFINITY if cutting_kind.waits_for_events else self.end
        span = (start, end)

        def cut_windows() -> list[Window]:
            """Return the windows; this is called as the writer's code, so that an exception in it breaks the law."""
            return list(islice(cutting_kind.cut(stretches, *span), MOST_WINDOWS))

        windows = self.call("cut", cut_windows)
        self.expect(len(windows) < MOST_WINDOWS, f"cut yields {MOST_WINDOWS} windows and more: {windows[:3]}")
        return windows

    def windows_of(self, stretches: Stretches, event: Lifetime) -> list[Window]:
        """Return the windows of an event, as far as the axis may have events."""
        # Only a kind that waits for events has finitely many windows for an event without an end.
        limit = INFINITY if self.kind.waits_for_events else self.end

        def windows_of_event() -> list[Window]:
            """Return the windows; this is called as the writer's code, so that an exception in it breaks the law."""
            windows = takewhile(lambda window: window.start < limit, self.kind.windows_of(stretches, *event))
            return list(islice(windows, MOST_WINDOWS))

        return self.call("windows_of", windows_of_event)

    def with_members(self, events: Collection[Lifetime], stretches: Stretches | None = None) -> list[Window]:
        """Return the windows that have a member.

        Args:
            events: The events.
            stretches: The stretches that cut the axis into windows; by default those of the events.
        """
        members = self.members(events)
        windows = self.cut(self.stretches(events) if stretches is None else stretches)
        return [window for window in windows if _overlaps_any(window, members)]

    def windows_on(self, grid: RegularWindows) -> list[Window]:
        """Return the windows of a grid on the part of the axis that may have events.

        The grid counts ticks or, if it has `periods`, the numbers of these, of which some may be empty.
        """
        periods = grid.periods
        first_number = self.start if periods is None else self.number_at(periods, self.start)
        last_number = self.end if periods is None else self.number_at(periods, self.end)
        # Begin with the last window that has ended by the first tick: no window that holds that tick is missed.
        hops = (first_number - grid.size - grid.offset) // grid.hop
        windows: list[Window] = []
        for number in range(hops * grid.hop + grid.offset, last_number + 1, grid.hop):
            if periods is None:
                start = number
                end = number + grid.size
            else:
                start = self.begins(periods, number)
                end = self.begins(periods, number + grid.size)
            if start < self.end:
                windows.append(Window(start, end))
        return windows

    def number_at(self, periods: Periods, tick: int) -> int:
        """Return the number of the period that a tick lies in; raise if that period does not hold the tick."""
        number = self.call("number_at", periods.number_at, tick)
        begins = self.begins(periods, number)
        ends = self.begins(periods, number + 1)
        self.expect(begins <= tick < ends, f"number_at({tick}) is {number}, the period [{begins}, {ends})")
        return number

    def begins(self, periods: Periods, number: int) -> int:
        """Return the start of a period."""
        return self.call("begins", periods.begins, number)

    def expect_equal(
        self, left: str, left_windows: Sequence[Window], right: str, right_windows: Sequence[Window]
    ) -> None:
        """Raise unless two lists of windows, each with a description, are equal."""
        are_equal = list(left_windows) == list(right_windows)
        self.expect(are_equal, lambda: f"{left}: {_spell(left_windows)}\n{right}: {_spell(right_windows)}")

    def ask(self, method: str, *arguments: object) -> Any:
        """Call a method of the kind; an exception breaks the law."""
        __tracebackhide__ = True
        return self.call(method, getattr(self.kind, method), *arguments)

    def _near(self) -> int:
        """Draw the ticks by which a time misses a step: at most one, and none where a step is a tick."""
        if self.scale == 1:
            return 0
        return self.draw(st.sampled_from([0, 0, -1, 1]))


def _overlaps_any(window: Window, stretches: Iterable[Lifetime]) -> bool:
    """Return True if a window shares a tick with one of the stretches."""
    return any(start < window.end and end > window.start for start, end in stretches)


def _spell(windows: Sequence[Window]) -> str:
    """Spell windows as intervals, for reports."""
    return ", ".join(f"[{window.start}, {window.end})" for window in windows) or "no windows"


class WindowKindLaws(Conformance, of=WindowKind, subject="kind", trial=WindowKindTrial):
    """The laws of a kind of windows, tried on random streams of one key.

    Attributes:
        kind: Windows of the kind under test, with lengths of a few ticks, or of a few times `scale`.
        scale: The number of ticks in a step of the random streams; for a kind whose lengths are fixed, such as days.

    Example:
        >>> from muntin import hopping
        >>> class TestHops(WindowKindLaws):
        ...     kind = hopping(10, 4, reach=3)
        >>> TestHops().test_windows_that_ended_are_settled()
    """

    kind: ClassVar[WindowKind]
    scale: ClassVar[int] = 1

    @law("let each window start and end later than the one before it, and end after it starts")
    def test_windows_ascend_in_start_and_in_end(self, trial: WindowKindTrial) -> None:
        """Windows come in order, and none lies within another."""
        windows = trial.cut(trial.stretches(trial.history()))
        for window in windows:
            trial.expect(window.start < window.end, f"{window} is empty")
        for first, second in pairwise(windows):
            trial.expect(first.start < second.start and first.end < second.end, f"{second} comes after {first}")

        # The extent of a window may begin earlier than the window, but extents begin in order, too.
        previous_begin = EARLIEST
        for window in windows:
            begin = trial.ask("extent_start", window.start)
            if not previous_begin <= begin <= window.start:
                raise trial.broken(
                    f"the extent of {window} begins at {begin}, and that of the one before at {previous_begin}"
                )
            previous_begin = begin

    @law("yield all windows that share a tick with [start, end), and no others")
    def test_a_part_is_the_whole_cut_restricted(self, trial: WindowKindTrial) -> None:
        """Asked for a part of the axis, a kind yields the windows of the whole cut that lie on that part."""
        stretches = trial.stretches(trial.history())
        whole_cut = trial.cut(stretches)
        start = trial.tick()
        end = start + trial.draw(st.integers(1, 30)) * trial.scale
        part = trial.cut(stretches, start, end)
        expected = [window for window in whole_cut if window.start < end and window.end > start]
        trial.expect_equal(f"cut(stretches, {start}, {end})", part, "of the whole cut", expected)

    @law("cut by stretches alone: keep nothing between calls")
    def test_only_the_set_of_stretches_matters(self, trial: WindowKindTrial) -> None:
        """Windows do not depend on the order of events, on the number with equal stretches, or on earlier calls."""
        history = trial.history()
        expected = trial.cut(trial.stretches(history))

        # Another object of the kind cuts half of the events, then other events; neither call may leave a trace.
        kind = trial.fresh_copy()
        trial.cut(trial.stretches(history[: len(history) // 2]), kind=kind)
        trial.cut(trial.stretches(trial.history()), kind=kind)

        members = trial.members(history)
        twice_in_another_order = Stretches([*reversed(members), *members])
        trial.expect_equal("asked again", trial.cut(twice_in_another_order, kind=kind), "asked first", expected)

    @law("let membership begin at the start of the event or later")
    def test_a_stretch_never_begins_before_its_event(self, trial: WindowKindTrial) -> None:
        """No event counts before its start, nor, where windows do not wait for events, beyond its reach."""
        for start, end in trial.history():
            counts_from, counts_to = trial.ask("membership", start, end)
            if not start <= counts_from <= counts_to:
                raise trial.broken(f"membership({start}, {end}) is {(counts_from, counts_to)}")
            if trial.kind.waits_for_events or end == INFINITY:
                continue
            if end + trial.kind.reach < counts_to < INFINITY:
                raise trial.broken(
                    f"membership({start}, {end}) ends at {counts_to}, and the reach is {trial.kind.reach}"
                )

    @law("let windows that ended depend on nothing that may still come; or say ends_move = True")
    def test_windows_that_ended_are_settled(self, trial: WindowKindTrial) -> None:
        """Whatever comes after a watermark, windows that ended by then are what they were.

        With `ends_move`, this holds only for windows that ended before the watermark.
        """
        history, watermark, later_events = trial.continued()
        limit = trial.limit(watermark)
        ended = [window for window in trial.with_members(history) if window.end <= limit]
        ended_later = [window for window in trial.with_members(later_events) if window.end <= limit]
        trial.expect_equal(f"ended by {limit}", ended, "later", ended_later)

    @law("return from unborn the least start of a window that known stretches may still open")
    def test_later_windows_start_where_they_may(self, trial: WindowKindTrial) -> None:
        """No later event opens a window before all of these: the first open window, `unborn` and the watermark.

        Where windows do not wait for events, no later event opens a window before the first that ends after the
        watermark.
        """
        history, watermark, later_events = trial.continued()
        stretches = trial.stretches(history)
        limit = trial.limit(watermark)
        earlier_windows = trial.with_members(history)
        if trial.kind.waits_for_events:
            starts = [watermark, trial.ask("unborn", stretches)]
            starts += [window.start for window in earlier_windows if window.end > limit]
        else:
            first_windows = trial.cut(stretches, watermark, trial.end)[:1]
            starts = [window.start for window in first_windows]
        earliest_start = min(starts, default=EARLIEST)  # no window that is opened later may start before it
        for window in trial.with_members(later_events):
            if window not in earlier_windows and window.start < earliest_start:
                raise trial.broken(f"after the watermark {watermark}, {window} starts before {earliest_start}")

    @law("return from carried what cut needs of the stretches that end at the frontier or before")
    def test_what_is_carried_replaces_what_is_forgotten(self, trial: WindowKindTrial) -> None:
        """Once events are forgotten, windows from the frontier on are those that all events would make."""
        all_events = dict(enumerate(trial.history()))
        remaining = dict(all_events)
        stretches = trial.stretches(all_events.values())
        watermark = EARLIEST
        # Twice: what was carried the first time has to be carried on.
        for _ in range(2):
            # The watermark advances, and events that no open window needs are forgotten.
            watermark = max(watermark, trial.tick())
            lag = trial.draw(st.sampled_from([0, 0, 3])) * trial.scale  # an engine may keep events for longer
            limit = trial.limit(watermark) - lag
            frontier = next_frontier(trial.kind, stretches, limit)
            carried = stretches.carried
            if frontier > stretches.frontier:
                carried = trial.ask("carried", stretches, frontier)
            for id, event in list(remaining.items()):
                _, event_end = event
                _, counts_to = trial.stretch(event)
                may_be_revised = event_end >= watermark  # another end may still prolong its stretch
                if counts_to <= frontier and not may_be_revised:
                    del remaining[id]

            # Later events come. Before they do, an engine may forget a key without events, with what it carried.
            is_forgotten = not remaining and not trial.ask("outlives", carried)
            later_events = trial.later(remaining, watermark)
            forgotten_events = {id: event for id, event in all_events.items() if id not in remaining}
            all_events = forgotten_events | later_events
            remaining = later_events
            members = trial.members(remaining.values())
            stretches = Stretches(members) if is_forgotten else Stretches(members, frontier, carried)

            windows = trial.with_members(remaining.values(), stretches)
            expected = trial.with_members(all_events.values())
            trial.expect_equal(
                f"from {frontier} on, with {carried!r} carried",
                [window for window in windows if window.start >= frontier],
                "with all events",
                [window for window in expected if window.start >= frontier],
            )

    @law("let affected_stretch cover all that may change when a stretch comes, goes, or changes its end")
    def test_a_change_stays_where_the_kind_says(self, trial: WindowKindTrial) -> None:
        """A window that comes or goes with an event, or with its end, lies where `affected_stretch` says."""
        history = trial.history()
        event = trial.lifetime()
        start = event[0]
        # The event is retracted, or is given another end.
        versions = [event]
        finite_end = start + trial.draw(st.integers(1, 20)) * trial.scale
        new_end = trial.draw(st.sampled_from([None, finite_end, INFINITY]))
        if new_end is not None:
            versions.append((start, new_end))
        counted_versions = [version for version in versions if trial.members([version])]
        if not counted_versions:
            return  # neither version counts anywhere, so nothing changes

        # The change lies on the stretches of both versions. If both stretches begin together, and each lasts at least
        # as long as its event, only their ends differ: the change begins at the earlier end. See `affected_stretch`.
        stretches = [trial.stretch(version) for version in counted_versions]
        change_start = min(start for start, _ in stretches)
        change_end = max(end for _, end in stretches)
        if len(counted_versions) == 2:
            event_ends = [event_end for _, event_end in counted_versions]
            begin_together = all(start == change_start for start, _ in stretches)
            outlast_events = all(end >= event_end for (_, end), event_end in zip(stretches, event_ends, strict=True))
            if begin_together and outlast_events:
                change_start = min(event_ends)

        affected_start, affected_end = trial.ask("affected_stretch", change_start, change_end)
        windows_before = set(trial.with_members([*history, versions[0]]))
        windows_after = set(trial.with_members([*history, *versions[1:]]))  # without the event, if it was retracted
        for window in sorted(windows_before ^ windows_after):
            if window.start >= affected_end or window.end <= affected_start:
                raise trial.broken(
                    f"affected_stretch({change_start}, {change_end}) is {(affected_start, affected_end)}, "
                    f"and {window} comes or goes"
                )

    @law("let grid, growing, fuses_within and cuts_at_edges say what makes the same windows and members, or nothing")
    def test_a_shortcut_makes_the_same_windows(self, trial: WindowKindTrial) -> None:
        """A grid, steps, a gap within which events fuse, or edges make the windows of `cut`, with the same members.

        Where a grid counts `Periods`, a tick lies in the one that `number_at` says. Kinds that return nothing
        from `grid`, `growing` and `fuses_within`, and False from `cuts_at_edges`, take no shortcut.
        """
        history = trial.history()
        steps: GrowingSteps | None = trial.ask("growing")
        if steps is not None:
            self._expect_steps(trial, steps, history)
        grid: RegularWindows | None = trial.ask("grid")
        gap: int | None = trial.ask("fuses_within")
        if gap is not None:
            self._expect_fused(trial, gap, history)
        if trial.ask("cuts_at_edges"):
            self._expect_cut_at_edges(trial, history)
        if grid is not None:
            self._expect_grid(trial, grid, history)

    @staticmethod
    def _expect_steps(trial: WindowKindTrial, steps: GrowingSteps, history: Sequence[Lifetime]) -> None:
        """Expect the members and windows that the steps of growing windows say, for events that are points."""
        points = [(start, start + 1) for start, _ in history]

        # A point counts from its start to the end of its period; none counts before the first period.
        expected_stretches: set[Lifetime] = set()
        for start, _ in points:
            period_start, period_end = steps.around(start)
            if period_start <= start:
                expected_stretches.add((start, period_end))
        expected_members = sorted(expected_stretches)
        members = sorted(set(trial.members(points)))
        trial.expect(members == expected_members, lambda: f"events count on {members}, not on {expected_members}")

        # One window ends with each step on which a point counts; it begins where the period of the step does.
        expected_windows: list[Window] = []
        for step in trial.windows_on(steps):
            if _overlaps_any(step, expected_members):
                period_start, _ = steps.around(step.start)
                expected_windows.append(Window(period_start, step.end))
        extents: list[Window] = []
        for window in trial.with_members(points):
            if window.start < trial.end:  # `windows_on` lists steps up to there
                extents.append(Window(trial.ask("extent_start", window.start), window.end))
        trial.expect_equal("of the steps", expected_windows, "windows", extents)

    @staticmethod
    def _expect_fused(trial: WindowKindTrial, gap: int, history: Sequence[Lifetime]) -> None:
        """Expect that an event counts until a gap after its last tick, and that windows are the parts so connected."""
        expected_members: list[Lifetime] = []
        for start, end in history:
            last_tick = end - 1
            expected_members.append((start, INFINITY if end == INFINITY else last_tick + gap))
        members = trial.members(history)
        trial.expect(
            sorted(members) == sorted(expected_members),
            lambda: f"members count on {members}, not on {expected_members}",
        )
        connected_parts = [Window(*part) for part in Stretches(expected_members).covered]
        trial.expect_equal("what is connected", connected_parts, "windows", trial.with_members(history))

    @staticmethod
    def _expect_cut_at_edges(trial: WindowKindTrial, history: Sequence[Lifetime]) -> None:
        """Expect that events count as long as they last, and that windows lie between neighbouring starts and ends."""
        members = trial.members(history)
        trial.expect(sorted(members) == sorted(history), lambda: f"members count on {members}, not as they last")
        between_edges = starmap(Window, pairwise(Stretches(history).edges))
        expected_windows = [window for window in between_edges if _overlaps_any(window, history)]
        trial.expect_equal("between edges", expected_windows, "windows", trial.with_members(history))

    @staticmethod
    def _expect_grid(trial: WindowKindTrial, grid: RegularWindows, history: Sequence[Lifetime]) -> None:
        """Expect that the windows with members are those of the grid that share a tick with an event."""
        # An engine caches where periods begin, by the periods, and windows of equal periods share their slices.
        is_equal_each_time = grid.periods == trial.ask("grid").periods
        is_hashable = type(grid.periods).__hash__ is not None
        fault = f"{grid.periods!r} is another one each time, or cannot be hashed: make it a frozen dataclass"
        trial.expect(is_equal_each_time and is_hashable, fault)
        if grid.periods is not None:
            for start, _ in history:
                trial.number_at(grid.periods, start)  # it raises if the period of that number does not hold the start
        on_grid = [window for window in trial.windows_on(grid) if window.start < window.end]
        expected = [window for window in on_grid if _overlaps_any(window, history)]
        windows = [window for window in trial.with_members(history) if window.start < trial.end]
        trial.expect_equal("on the grid", expected, "windows", windows)

    @law("let members and windows_of be two definitions of one thing: which event is in which window")
    def test_members_and_windows_are_dual(self, trial: WindowKindTrial) -> None:
        """An event is a member of a window if, and only if, that window is one of the event's.

        So `members` and `windows_of` are two definitions of one thing. By default both follow from `membership`
        and `cut`, and there is nothing to compare: override `members` with the definition that users of the
        windows know, and the law checks the one against the other. Muntin's own kinds are compared with their
        definitions in the reference evaluator.
        """
        history = trial.history()
        stretches = trial.stretches(history)
        windows = trial.cut(stretches)
        windows_of = {event: trial.windows_of(stretches, event) for event in history}
        for event, windows_of_event in windows_of.items():
            unknown = [window for window in windows_of_event if window not in windows]
            trial.expect(not unknown, f"windows_of yields {unknown} for {event}, which cut does not")
        for window in windows:
            members = sorted(trial.ask("members", window, history))
            expected = sorted(event for event in history if window in windows_of[event])
            trial.expect(members == expected, f"{window} has {members}, and is a window of {expected}")

    @law("say as context what the windows of an event depend on besides its own times")
    def test_windows_depend_on_no_more_than_the_context(self, trial: WindowKindTrial) -> None:
        """The windows of an event depend only on the other events that the kind's `context` names.

        These are none, those that start no later than the event, or all of them.
        """
        context = trial.kind.context
        history = trial.history()
        if context is WindowContext.FORWARD:
            return  # all events may matter
        for event in history:
            needed = [event]
            if context is WindowContext.BACKWARD:
                needed = [earlier for earlier in history if earlier[0] <= event[0]]
            windows = trial.windows_of(trial.stretches(needed), event)
            expected = trial.windows_of(trial.stretches(history), event)
            trial.expect_equal(f"windows of {event}", windows, "with all events", expected)

    @law("make the fields plain data, and let to_dict and from_dict be inverse")
    def test_the_kind_and_what_it_carries_are_plain_data(self, trial: WindowKindTrial) -> None:
        """The kind, and what is carried of the past, can be written into a checkpoint and read again."""
        kind = trial.kind
        data = trial.ask("to_dict")
        try:
            data_from_json: Any = json.loads(json.dumps(data))
        except (TypeError, ValueError) as error:
            raise trial.broken(f"{data!r} cannot be stored: {error}") from None
        trial.expect(
            data_from_json.get("kind") == kind.name and data_from_json.get("version") == kind.version,
            lambda: f"{data!r} does not say {kind.name} and {kind.version}",
        )
        restored_kind = trial.ask("from_dict", data_from_json)
        trial.expect(restored_kind == kind, lambda: f"{kind!r} is read as {restored_kind!r}")

        # `stored` itself raises where the carried stretches are no plain data.
        stretches = trial.stretches(trial.history())
        trial.stored(trial.ask("carried", stretches, trial.tick()))
