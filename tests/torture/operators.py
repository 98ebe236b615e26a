"""Random operators that follow random streams: events, wake-ups and forgotten keys are those of the reference."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random

from muntin import INFINITY, Event, StreamOperator
from muntin.testing import Script, WindowedQuery
from muntin_engine.testing import crash_everywhere
from tests.operators.streams import Step, disordered, drive, meant, plan_of
from tests.operators.test_intervals import run_intervals
from tests.sdk.stream_operators import Level, Overdue
from tests.torture.kind import Figures


class Automaton(StreamOperator[int, list[int], list[int]]):
    """Goes from state to state by chance, which is the same for the same seed, state and cause.

    Its state is a number, a time to be woken at, and what it remembers. The number 0 is that of a new key.
    """

    name, version = "torture.automaton", "1"

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def create_state(self) -> list[int]:
        return [0, -1]

    def on_event(self, state: list[int], payload: int, time: int) -> Iterable[list[int] | Event[list[int]]]:
        return self._go(state, f"event {payload}", time)

    def on_time(self, state: list[int], time: int) -> Iterable[list[int] | Event[list[int]]]:
        return self._go(state, "wake-up", time)

    def next_time(self, state: list[int]) -> int | None:
        return None if state[1] < 0 else state[1]

    def is_empty(self, state: list[int]) -> bool:
        return state[0] == 0

    def _go(self, state: list[int], cause: str, time: int) -> Iterable[list[int] | Event[list[int]]]:
        random = Random(f"{self.seed} {state[0]} {cause}")
        state[0] = random.randrange(4)
        state[1] = time + random.choice((-3, 0, 1, 2, 5, 30)) if random.random() < 0.7 else -1
        if state[0]:
            state.append(time)
        else:
            state[1:] = [-1]
        for _ in range(random.randrange(3)):
            if random.random() < 0.5:
                yield state
            else:
                yield Event(time, random.choice((time + 1, time + 9, INFINITY)), [*state])


def operators(seed: int, folder: Path) -> Figures:
    """Run a random operator over a random stream, in any cuts, with restarts, and with a crash in each step."""
    random = Random(seed)
    module = Automaton(random.randrange(1000))
    steps = disordered(random, events=random.choice((5, 20, 60)), keys=random.choice(("a", "ab", "abcdef")))
    plan, rows = plan_of(module), [row for step in steps for row in step.rows]
    at_once = [Step(random.sample(rows, len(rows)), steps[-1].watermark)]
    for some, restarts in ((steps, False), (steps, True), (at_once, False)):
        found, wanted = drive(plan, some, restarts=restarts).output, meant(module, some)
        assert found == wanted, f"restarts {restarts}: {found} instead of {wanted}"
    script, gone = Script(), {row.id for row in rows if row.is_retracted}
    for row in sorted(rows, key=lambda row: row.time)[:12]:
        if row.id not in gone:
            script = script.point(row.id, row.time, row.value, key=row.key)
            script = script.punctuate(row.time) if random.random() < 0.3 else script
    survived = crash_everywhere(script.close(), WindowedQuery.unwindowed(module))
    run_intervals(random.choice((Level(), Overdue(random.randint(1, 9)))), seed)
    return {"streams": 1, "changes": len(rows), "results": len(wanted), "steps": survived.steps}
