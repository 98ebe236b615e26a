"""Machines whose states change with events, and with time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from muntin import Duration, Instant, StreamOperator, ticks


@dataclass(frozen=True, slots=True)
class Transition:
    """A change of state.

    Attributes:
        source: State that was left.
        target: State that was entered.
        cause: Event; null for a time-out.
        since: Time at which the source had been entered; null for the state in which machines start, unless it has a
            time-out and was entered again.
    """

    source: str
    target: str
    cause: str | None
    since: Instant | None


@dataclass(slots=True)
class Machine:
    """The state of a machine.

    Attributes:
        state: Name of the state.
        since: Time at which the state was entered; None if the machine is as good as new, so that it does not matter.
    """

    state: str
    since: int | None = None


class StateMachine(StreamOperator[str, Machine, Transition]):
    """Report each change of state of a machine per key, which events and time-outs bring about.

        events   open           open      close
        door     --[ open       ..... ]-[ ajar ]--     a door that is open for too long is ajar

    An event for which the state has no transition changes nothing, and does not start its time-out anew. A transition
    from a state to itself is reported, and starts the time-out anew.

    Args:
        start: State in which each machine starts. There is no time-out before its first transition.
        transitions: Triples of a state, an event and the next state.
        timeouts: Triples of a state, a length of time above zero, and the state that follows if there is no transition
            until then. An event at the very time comes after the time-out.

    Types: the name of an event; rows of `source`, `target`, `cause` and `since`. Rows are points at the time of the
    change.
    Nulls: no events.

    Cost: a name and a number per key, until its machine is back in the state in which it started, with no time-out
    there.

    Example:
        >>> from muntin import Event
        >>> from muntin.testing import WindowedQuery, evaluate
        >>> door = StateMachine("shut", [("shut", "open", "open"), ("open", "close", "shut")], [("open", 9, "shut")])
        >>> events = [Event.point(1, "open"), Event.point(4, "close"), Event.point(20, "open")]
        >>> rows = evaluate(WindowedQuery.unwindowed(door), events, 30)
        >>> [(row.start, row.value.source, row.value.cause) for row in rows]
        [(1, 'shut', 'open'), (4, 'open', 'close'), (20, 'shut', 'open'), (29, 'open', None)]
    """

    name, version = "patterns.state_machine", "0.1.0"

    def __init__(
        self,
        start: str,
        transitions: Sequence[tuple[str, str, str]],
        timeouts: Sequence[tuple[str, Duration, str]] = (),
    ) -> None:
        self.start = start
        # The next state, by the state and the event; and the length and the next state of a time-out, by the state.
        self.transitions = {(source, event): target for source, event, target in transitions}
        self.timeouts = {source: (ticks(after), target) for source, after, target in timeouts}
        if len(self.transitions) < len(transitions):
            raise ValueError("two transitions have the same state and event, so what follows is not known")
        if len(self.timeouts) < len(timeouts):
            raise ValueError("a state has two time-outs; the shorter one alone can happen")
        for source, after, _ in timeouts:
            if ticks(after) <= 0:
                raise ValueError(f"the time-out of {source!r} must be above zero, got {after!r}")
        sources = {source for source, _, _ in (*transitions, *timeouts)}
        targets = {target for _, _, target in (*transitions, *timeouts)}
        # A state that nothing leads to is most likely misspelt.
        unreached = sorted(sources - targets - {start})
        if unreached:
            raise ValueError(f"no transition leads to {unreached[0]!r}, and machines start in {start!r}")
        # Time-outs that lead around in a circle never end: the engine has to know.
        self.is_periodic = any(map(self._times_out_again, self.timeouts))

    def create_state(self) -> Machine:
        """Return a machine in the state in which machines start."""
        return Machine(self.start)

    def on_event(self, state: Machine, payload: str, time: int) -> Iterable[Transition]:
        """Follow the transition of an event, if there is one."""
        target = self.transitions.get((state.state, payload))
        if target is None:
            return []
        return [self._enter(state, target, payload, time)]

    def next_time(self, state: Machine) -> int | None:
        """Return the time of the next time-out."""
        if state.since is None or state.state not in self.timeouts:
            return None
        after, _ = self.timeouts[state.state]
        return state.since + after

    def on_time(self, state: Machine, time: int) -> Iterable[Transition]:
        """Follow the time-out."""
        _, target = self.timeouts[state.state]
        return [self._enter(state, target, None, time)]

    def is_empty(self, state: Machine) -> bool:
        """True if the machine is as good as new."""
        return state.state == self.start and state.since is None

    def _times_out_again(self, source: str) -> bool:
        """True if time-outs alone lead from a state back to it."""
        state = source
        # After as many steps as there are time-outs, each state has been seen once.
        for _ in self.timeouts:
            if state not in self.timeouts:
                return False
            _, state = self.timeouts[state]
            if state == source:
                return True
        return False

    def _enter(self, machine: Machine, target: str, cause: str | None, time: int) -> Transition:
        """Move a machine to a state, and return the transition."""
        transition = Transition(machine.state, target, cause, machine.since)
        # In the first state of machines the time does not matter, unless a time-out counts from it.
        is_as_new = target == self.start and target not in self.timeouts
        machine.state = target
        machine.since = None if is_as_new else time
        return transition
