"""The laws of triggers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any, ClassVar, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from muntin.axis import EARLIEST, INFINITY
from muntin.errors import ModuleDefinitionError, PolicyError
from muntin.testing.laws.conformance import Conformance, law
from muntin.testing.laws.trial import Trial
from muntin.triggers.description import to_dict
from muntin.triggers.trigger import FINISHED, Decision, Trigger, TriggerView
from muntin.windows.extent import Window

WINDOW: Final = Window(0, 60)
"""The window that a trigger under test watches."""

_JUMPS: Final = (0, 0, 1, 7, 30)
_ANY_VIEW: Final = "make it work for the views above, or say with values = ... what may come"


class TriggerTrial(Trial):
    """Steps a trigger through random changes of a window."""

    tested: Trigger

    def create(self) -> Any:
        """Return the state of a new window."""
        return self._call("create_state", WINDOW)

    def step(self, state: object, view: TriggerView) -> tuple[Any, Decision]:
        """Step the trigger; return its new state and its decision, or raise if its answer is no such pair."""
        answer = self._call("step", state, WINDOW, view)
        if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], Decision):
            return answer
        raise self.broken(f"step returned {answer!r}", "return a pair of the state and a Decision")

    def wake_ups(self, state: object) -> tuple[int, int]:
        """Return the trigger's two wake-ups: a reading of the clock, and a max event time."""
        return self._call("next_clock", state, WINDOW), self._call("next_event_time", state, WINDOW)

    def views(self) -> list[TriggerView]:
        """Draw the changes of a window; time often stops just before a wake-up of the trigger, or right at it."""
        state = self.create()
        view = TriggerView(max_event_time=WINDOW.start)
        views: list[TriggerView] = []
        for place in range(self.draw(st.integers(1, 8))):
            view = self._next(view, self.wake_ups(state), is_first=place == 0)
            views.append(view)
            self.stream.append(_spell(view))
            state, decision = self.step(state, view)
            if decision.is_finished:
                break
        return views

    def decisions(self, views: Sequence[TriggerView], *, sleeps: bool) -> list[Decision]:
        """Return the trigger's decision on each view, restoring its state from a checkpoint in between.

        Args:
            views: The changes of the window.
            sleeps: True to call the trigger as the engine does: for the first changes, when members came or left, at
                signals that it waits for, and at its wake-ups.
        """
        state = self.create()
        decisions: list[Decision] = []
        for place, view in enumerate(views):
            is_first = place == 0
            is_touched = is_first or view.arrivals or view.departures or view.signals & self.tested.signals
            # The engine does not step the trigger of a window to which nothing happened: a step would have to wait.
            if sleeps and not is_touched and not self._is_woken(state, view):
                decisions.append(Decision.WAIT)
                continue
            new_state, decision = self.step(state, view)
            decisions.append(decision)
            state = self.stored(new_state)
            if decision.is_finished:
                break
        return decisions

    def _is_woken(self, state: object, view: TriggerView) -> bool:
        """Return True if the time of a view has reached one of the trigger's wake-ups."""
        clock, max_event_time = self.wake_ups(state)
        return clock <= view.clock or max_event_time <= view.max_event_time

    def states_to_merge(self) -> tuple[list[Any], TriggerView]:
        """Draw changes of two or three windows; return the trigger's state for each, and the latest progress of all."""
        states: list[Any] = []
        latest = TriggerView(max_event_time=WINDOW.start)
        for number in range(1, self.draw(st.integers(2, 3)) + 1):
            view = TriggerView(max_event_time=WINDOW.start)
            state = self.create()
            for place in range(self.draw(st.integers(1, 4))):
                view = self._next(view, self.wake_ups(state), is_first=place == 0)
                self.stream.append(f"window {number}: {_spell(view)}")
                state, decision = self.step(state, view)
                if decision.is_finished:
                    state = FINISHED
                    break
            states.append(state)
            # The merged window goes on from the latest progress: that of the micro-batch in which windows merge.
            latest = TriggerView(
                max_event_time=max(latest.max_event_time, view.max_event_time), clock=max(latest.clock, view.clock)
            )
        return states, latest

    def merge(self, states: Sequence[Any]) -> Any:
        """Merge states, and restore the result from a checkpoint."""
        merged = self._call("merge", list(states), WINDOW)
        return merged if merged is FINISHED else self.stored(merged)

    def views_after(self, state: Any, latest: TriggerView) -> list[TriggerView]:
        """Draw the changes of a merged window, from the micro-batch of the merge on.

        Args:
            state: The trigger's merged state.
            latest: The progress at the merge.
        """
        view = latest
        views: list[TriggerView] = []
        # The window changes on after the trigger is finished: merged in another order, the trigger may not be.
        for _ in range(self.draw(st.integers(1, 4))):
            # A finished trigger asks for no wake-up, neither by the clock nor by event time.
            wake_ups = (INFINITY, INFINITY) if state is FINISHED else self.wake_ups(state)
            view = self._next(view, wake_ups, is_first=False)
            views.append(view)
            self.stream.append(f"merged: {_spell(view)}")
            if state is not FINISHED:
                state, decision = self.step(state, view)
                state = FINISHED if decision.is_finished else state
        return views

    def decisions_after(self, state: Any, views: Sequence[TriggerView]) -> list[Decision]:
        """Return the trigger's decisions on views, until it is finished."""
        decisions: list[Decision] = []
        for view in views:
            if state is FINISHED:
                break
            state, decision = self.step(state, view)
            decisions.append(decision)
            state = FINISHED if decision.is_finished else state
        return decisions

    def _next(self, view: TriggerView, wake_ups: tuple[int, int], *, is_first: bool) -> TriggerView:
        """Draw the next changes of a window, and the progress after them.

        Args:
            view: The changes before, with the progress after them.
            wake_ups: The trigger's wake-ups: a reading of the clock and a max event time.
            is_first: True for the first changes of the window.
        """
        # A window begins with a member; later, many micro-batches bring none.
        arrivals = self.draw(st.sampled_from([1, 2, 5] if is_first else [0, 0, 1, 3]))
        clock_wake_up, event_time_wake_up = wake_ups
        max_event_time = self._later(view.max_event_time, event_time_wake_up)
        clock = self._later(view.clock, clock_wake_up)
        departures = 0 if is_first else self.draw(st.sampled_from([0, 0, 0, 1]))
        newest = self.draw(st.integers(WINDOW.start, WINDOW.end - 1)) if arrivals else EARLIEST

        # Signals come now and then, also one that the trigger does not wait for.
        signals: list[str] = []
        for signal in sorted({*self.tested.signals, "another signal"}):
            if self.draw(st.integers(0, 5)) == 0:
                signals.append(signal)
        # One value per new member for each expression that the trigger reads, and one for each result.
        values: dict[str, list[Any]] = {}
        for expression in self.tested.reads:
            values[expression] = [self.draw(self._value(expression)) for _ in range(arrivals)]
        results = {name: self.draw(self._value(name)) for name in self.tested.reads_results}
        return TriggerView(
            max_event_time=max_event_time,
            clock=clock,
            arrivals=arrivals,
            departures=departures,
            newest=newest,
            signals=frozenset(signals),
            values=values,
            results=results,
        )

    def _later(self, time: int, wake_up: int) -> int:
        """Draw a time that is no earlier than another one, and now and then next to a wake-up."""
        start = max(time, 0)  # before the first reading, the time is `EARLIEST`
        times = [time, *(start + jump for jump in _JUMPS)]
        # At either end of the axis a wake-up means that any reading wakes the trigger, or that none does.
        if EARLIEST + 1 < wake_up < INFINITY - 1:
            times += [wake_up - 1, wake_up, wake_up + 1]
        return max(time, self.draw(st.sampled_from(times)))

    def _value(self, expression: str) -> SearchStrategy[object]:
        """Return the strategy for the values of an expression; refuse a laws class that has none."""
        values: Mapping[str, SearchStrategy[object]] = self.laws.values
        if expression not in values:
            raise ModuleDefinitionError(
                f"{self.module} reads {expression!r}, and nothing says what its values may be\n"
                f"  set the class attribute: values = {{{expression!r}: hypothesis.strategies. ...}}"
            )
        return values[expression]

    def _call(self, name: str, *arguments: object) -> Any:
        """Call a method of the trigger; an exception breaks the law."""
        __tracebackhide__ = True
        return self.call(name, getattr(self.tested, name), *arguments, remedy=_ANY_VIEW)


def _spell(view: TriggerView) -> str:
    """Describe the changes of a window in one line, for the drawing of the stream."""
    clock = "none" if view.clock == EARLIEST else view.clock
    text = f"max event time {view.max_event_time}, clock {clock}, {view.arrivals} came, {view.departures} left"
    if view.arrivals:
        text += f", newest {view.newest}"
    for name, values in view.values.items():
        text += f", {name} {list(values)}"
    if view.signals:
        text += f", signals {', '.join(sorted(view.signals))}"
    return text


def _merges_nothing(trigger: Trigger) -> str | None:
    """Return the reason why the law of merging does not apply: the trigger has no `merge`; None if it has one."""
    return None if trigger.can_merge else f"{trigger} does not define merge, and is refused where events cut windows"


class TriggerLaws(Conformance, of=Trigger, subject="trigger", trial=TriggerTrial):
    """The laws of a trigger.

    Attributes:
        trigger: The trigger under test.
        values: A strategy for the values of each expression that the trigger reads.

    Example:
        >>> from muntin.triggers import after_count, any_of, every
        >>> class TestPatience(TriggerLaws):
        ...     trigger = any_of(after_count(100), every("1 minute"))
        >>> TestPatience().test_it_sleeps_until_it_is_woken()
    """

    trigger: ClassVar[Trigger]
    values: ClassVar[Mapping[str, SearchStrategy[Any]]] = {}

    @law("make it a frozen dataclass with a name, whose fields are numbers, text or triggers", is_random=False)
    def test_definition_is_complete(self, trial: TriggerTrial) -> None:
        """The trigger can be written into a checkpoint, and be known again."""
        try:
            to_dict(trial.tested)
        except PolicyError as error:
            raise trial.broken(str(error)) from None

    @law("build the state from numbers, text, lists and dicts")
    def test_states_are_plain_data(self, trial: TriggerTrial) -> None:
        """Every state can be stored in a checkpoint.

        Numbers, text, lists and dicts are plain data; an object of the trigger's own class is not.
        """
        trial.decisions(trial.views(), sleeps=False)  # it stores each state, and reports one that is not plain data

    @law("return a new state; copy a list or a dict before you change it")
    def test_a_step_leaves_its_state_as_it_was(self, trial: TriggerTrial) -> None:
        """A step changes nothing in the state that it is given.

        The engine may call `step` twice with one state, if a micro-batch is repeated.
        """
        state = trial.create()
        for view in trial.views():
            with trial.unchanged("state", "afterwards", state, copy=trial.stored):
                new_state, decision = trial.step(state, view)
                state = new_state
            if decision.is_finished:
                break

    @law("decide from the state and the view alone: no clock, no random number, nothing kept in the trigger")
    def test_the_same_views_give_the_same_decisions(self, trial: TriggerTrial) -> None:
        """A window to which the same happens gets the same decisions.

        A trigger reads no clock; the time is in its view.
        """
        views = trial.views()
        first = trial.decisions(views, sleeps=False)
        trial.expect_same(("at first", first), ("again", trial.decisions(views, sleeps=False)))

    @law("say in next_clock, next_event_time and signals what it waits for, and count nothing but members")
    def test_it_sleeps_until_it_is_woken(self, trial: TriggerTrial) -> None:
        """Called only when members come or leave, or at its wake-ups, it decides as if it were called each time.

        A trigger that counts micro-batches breaks it, and so does one with a missing timer.
        """
        views = trial.views()
        decisions_each_time = trial.decisions(views, sleeps=False)
        decisions_when_woken = trial.decisions(views, sleeps=True)
        trial.expect_same(("called each time", decisions_each_time), ("called when woken", decisions_when_woken))

    @law(
        "return from merge what does not depend on the order of the states, as a sum, a minimum or a maximum does",
        does_not_apply=_merges_nothing,
    )
    def test_it_does_not_matter_how_states_are_merged(self, trial: TriggerTrial) -> None:
        """States merged in another order, or one after the other, give the same decisions.

        Sessions may be joined in any order, by one micro-batch or by several. The law does not apply to a
        trigger without `merge`, which is refused over windows that events cut.
        """
        states, latest_view = trial.states_to_merge()
        with trial.unchanged("states", "afterwards", states):
            merged = trial.merge(states)
        views = trial.views_after(merged, latest_view)  # the same ones for all orders, so that decisions compare
        decisions = trial.decisions_after(merged, views)
        for order in permutations(states):
            in_order = trial.decisions_after(trial.merge(order), views)
            trial.expect_same(("merged in order", decisions), ("merged in another", in_order))
            one_by_one = trial.merge(order[:1])
            for state in order[1:]:
                one_by_one = trial.merge([one_by_one, state])
            stepwise = trial.decisions_after(one_by_one, views)
            trial.expect_same(("merged at once", decisions), ("merged one after the other", stepwise))
