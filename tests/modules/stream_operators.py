"""Operators that follow a stream, event by event, and ask for wake-ups."""

from __future__ import annotations

from collections.abc import Iterable

from muntin import Event, IntervalOperator, StreamOperator


class Newest(StreamOperator[int, list[int], int]):
    """The largest payload so far."""

    name, version = "test.newest", "1"

    def create_state(self) -> list[int]:
        return []

    def on_event(self, state: list[int], payload: int, time: int) -> Iterable[Event[int] | int]:
        state[:] = [max([*state, payload])]
        return state


class Silence(StreamOperator[int, dict[str, int], str]):
    """A row where no event has come for a length of time; the key is forgotten then.

    A state has the time of the last event.
    """

    name, version = "test.silence", "1"

    def __init__(self, length: int = 10) -> None:
        self.length = length

    def create_state(self) -> dict[str, int]:
        return {}

    def on_event(self, state: dict[str, int], payload: int, time: int) -> None:
        state["last"] = time

    def next_time(self, state: dict[str, int]) -> int:
        return state["last"] + self.length

    def on_time(self, state: dict[str, int], time: int) -> Iterable[str]:
        yield f"silent since {state.pop('last')}"

    def is_empty(self, state: dict[str, int]) -> bool:
        return not state


class Gaps(StreamOperator[int, list[int], int]):
    """An event for each long gap between events: it begins at the end of the gap and lasts as long as the gap did.

    A state has the time of the last event.
    """

    name, version = "test.gaps", "1"

    def __init__(self, longest: int = 5) -> None:
        self.longest = longest

    def create_state(self) -> list[int]:
        return []

    def on_event(self, state: list[int], payload: int, time: int) -> Iterable[Event[int]]:
        for last_time in state:
            gap = time - last_time
            if gap > self.longest:
                yield Event(time, time + gap, gap)
        state[:] = [time]


class Ticker(StreamOperator[int, list[int], int]):
    """The last payload at each multiple of a period, for ever; a state has it and the next of these times."""

    name, version = "test.ticker", "1"
    is_periodic = True

    def __init__(self, period: int = 10) -> None:
        self.period = period

    def create_state(self) -> list[int]:
        return []

    def on_event(self, state: list[int], payload: int, time: int) -> None:
        state[:] = [payload, self._after(time)]

    def on_time(self, state: list[int], time: int) -> Iterable[int]:
        state[1] = self._after(time)
        return state[:1]

    def next_time(self, state: list[int]) -> int:
        return state[1]

    def _after(self, time: int) -> int:
        return (time // self.period + 1) * self.period


class Reminders(StreamOperator[int, list[int], str]):
    """A row at the time that each payload names, or as soon as possible if it has passed; a state has these times."""

    name, version = "test.reminders", "1"

    def create_state(self) -> list[int]:
        return []

    def on_event(self, state: list[int], payload: int, time: int) -> None:
        state.append(payload)

    def next_time(self, state: list[int]) -> int:
        return min(state)

    def on_time(self, state: list[int], time: int) -> Iterable[str]:
        due = min(state)
        state[:] = [later for later in state if later > due]
        yield f"due {due}"

    def is_empty(self, state: list[int]) -> bool:
        return not state


class Alarms(IntervalOperator[int, list[int], str]):
    """Reminds of the payloads of events, as `Reminders` does, once at their start and once at their end."""

    name, version = "test.alarms", "1"

    def create_state(self) -> list[int]:
        return []

    def on_start(self, state: list[int], payload: int, time: int) -> None:
        state.append(payload)

    def on_end(self, state: list[int], payload: int, time: int) -> None:
        state.append(payload)

    def next_time(self, state: list[int]) -> int | None:
        return min(state, default=None)

    def on_time(self, state: list[int], time: int) -> Iterable[str]:
        due = min(state)
        state[:] = [later for later in state if later > due]
        yield f"due {due}"


class Level(IntervalOperator[int, list[int], list[int]]):
    """The payloads of the events under way, whenever one starts or ends."""

    name, version = "test.level", "1"

    def create_state(self) -> list[int]:
        return []

    def on_start(self, state: list[int], payload: int, time: int) -> Iterable[list[int]]:
        state.append(payload)
        yield state

    def on_end(self, state: list[int], payload: int, time: int) -> Iterable[list[int]]:
        state.remove(payload)
        yield state

    def is_empty(self, state: list[int]) -> bool:
        return not state


class Overdue(IntervalOperator[int, list[list[int]], str]):
    """A row when an event is still under way after a length of time, and one at its end then.

    A state has a list for each event under way: the time at which it is overdue, its payload, and 1 if that was told.
    """

    name, version = "test.overdue", "1"

    def __init__(self, longest: int = 5) -> None:
        self.longest = longest

    def create_state(self) -> list[list[int]]:
        return []

    def on_start(self, state: list[list[int]], payload: int, time: int) -> None:
        state.append([time + self.longest, payload, 0])

    def on_end(self, state: list[list[int]], payload: int, time: int) -> Iterable[Event[str]]:
        entry = next(entry for entry in state if entry[1] == payload)
        state.remove(entry)
        _due, _payload, is_told = entry
        if is_told:
            yield Event(time, time + 3, f"{payload} is back")

    def next_time(self, state: list[list[int]]) -> int | None:
        return min((due for due, _payload, is_told in state if not is_told), default=None)

    def on_time(self, state: list[list[int]], time: int) -> Iterable[str]:
        for entry in state:
            due, payload, is_told = entry
            if due == time and not is_told:
                entry[2] = 1
                yield f"{payload} is overdue"

    def is_empty(self, state: list[list[int]]) -> bool:
        return not state
