"""Operators that follow a stream, as tests have them."""

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
    """Says where no event came for so long; the key is forgotten then."""

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
    """A row for each gap that is longer than so much: it lasts as long as the gap did, from where it was seen."""

    name, version = "test.gaps", "1"

    def __init__(self, longest: int = 5) -> None:
        self.longest = longest

    def create_state(self) -> list[int]:
        return []

    def on_event(self, state: list[int], payload: int, time: int) -> Iterable[Event[int]]:
        for last in state:
            if time - last > self.longest:
                yield Event(time, time + time - last, time - last)
        state[:] = [time]


class Ticker(StreamOperator[int, list[int], int]):
    """The last payload at each multiple of a period, for ever."""

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
    """Reminds of each payload, which is a time, when it comes, or as soon as possible if it has passed."""

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
    """The events under way, whenever that changes, by their payloads."""

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
    """Tells of an event that is still under way after so long, and of its end."""

    name, version = "test.overdue", "1"

    def __init__(self, longest: int = 5) -> None:
        self.longest = longest

    def create_state(self) -> list[list[int]]:
        return []

    def on_start(self, state: list[list[int]], payload: int, time: int) -> None:
        state.append([time + self.longest, payload, 0])

    def on_end(self, state: list[list[int]], payload: int, time: int) -> Iterable[Event[str]]:
        ended = next(entry for entry in state if entry[1] == payload)
        state.remove(ended)
        if ended[2]:
            yield Event(time, time + 3, f"{payload} is back")

    def next_time(self, state: list[list[int]]) -> int | None:
        return min((due for due, _, is_told in state if not is_told), default=None)

    def on_time(self, state: list[list[int]], time: int) -> Iterable[str]:
        for entry in state:
            if entry[0] == time and not entry[2]:
                entry[2] = 1
                yield f"{entry[1]} is overdue"

    def is_empty(self, state: list[list[int]]) -> bool:
        return not state
