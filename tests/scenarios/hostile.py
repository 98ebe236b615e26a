"""Rows that break every rule of a stream, through every evaluator: all say the same of each row and of the output.

Rows are of few ids, starts and ends, so that they meet: events are revised several times, deleted and inserted again;
rows are late, duplicated, of events that never came, or wait for others. The order of a micro-batch, how it is spread
over tasks, restarts and crashes are other ones for each evaluator, and for a second run of the first.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final, NamedTuple

import pyarrow as pa

from muntin import (
    INFINITY,
    EmitPolicy,
    Event,
    JoinKind,
    Lateness,
    LatePolicy,
    Refinement,
    TimestampPolicy,
    correct,
    early,
    hopping,
    snapshot,
    tumbling,
)
from muntin.rows import batch, last
from muntin.testing import Batch, evaluate
from muntin.triggers import every_count
from muntin.windows.specification import Unwindowed
from tests.modules.merged_states import ANY, COLUMNAR, FOLLOWING, OF_ROWS
from tests.scenarios.columns import ID_TYPES, MOST_IDS, number_of
from tests.scenarios.join import Join
from tests.scenarios.known import Arrival
from tests.scenarios.query import Query
from tests.scenarios.running import Mishaps, Row, Run, plain
from tests.scenarios.windows import WINDOWS


class HostileRow(NamedTuple):
    """An insertion, or a revision, which expects an end or whatever there is."""

    key: str | None
    id: int
    start: int
    end: int | None
    payload: int | None
    new_end: int | None = None


@dataclass(frozen=True)
class Hostile:
    """A query and rows of which many are illegal.

    Attributes:
        query: The query.
        batches: The rows of each micro-batch, and the watermark after them; the last one closes the stream.
        mishaps: Mishaps on the way.
    """

    query: Query | Join
    batches: Sequence[tuple[Sequence[HostileRow], int]]
    mishaps: Mishaps

    def check(self) -> int:
        """Run it through each evaluator that can, and the first one twice; return how many rows were refused.

        Raises:
            AssertionError: Two of them differ, a row is neither accepted nor refused, or the output is not that of the
                rows that were accepted.
        """
        plans = list(self.query.evaluators.values())
        runs = [
            Run(self.query, plan, replace(self.mishaps, seed=self.mishaps.seed + place))
            for place, plan in enumerate([*plans, plans[-1]])
        ]
        sent = Counter[HostileRow]()
        for rows, watermark in self.batches:
            sent.update(rows)
            for run in runs:
                run.take(Arrival((Batch((), watermark),) * self._streams), [self._row(run, row) for row in rows])
            told = [(run.output, run.refused, [run.counts[name] for name in ("accepted", "filtered")]) for run in runs]
            for one in told:
                assert one == told[-1], f"after {rows}:\n{one}\n{told[-1]}\n{self}"
        last = runs[-1]
        is_blind = any(row.new_end is not None and row.end is None for row in sent)
        refused = Counter[HostileRow]()
        for (*_, row), count in last.refused.items():
            refused[self._read(row, None if is_blind else INFINITY)] += count
        # a side output has null for what is expected, be it no end or any, and for what a filter left out
        gone, came = (Counter(self._spelled(row, is_blind) for row in some.elements()) for some in (refused, sent))
        assert not gone - came, f"refused what never came: {gone - came}"
        counted = last.counts["accepted"] + last.counts["filtered"] + refused.total()
        assert counted == sent.total(), f"{last.counts} of {sent}"
        assert all(run.is_empty for run in runs)
        if not is_blind and isinstance(self.query, Query) and self.query == _plain(self.query):
            self._compare(last, self.query, sent - refused)
        return refused.total()

    run = check

    @property
    def size(self) -> tuple[int, int]:
        """The number of its rows, and of its micro-batches."""
        return sum(len(rows) for rows, _ in self.batches), len(self.batches)

    @property
    def _streams(self) -> int:
        return 2 if isinstance(self.query, Join) else 1

    def _compare(self, run: Run, query: Query, accepted: Counter[HostileRow]) -> None:
        """Compare the output with what the reference makes of the rows that were accepted, where these say what it is.

        The rows of an event are the steps of a walk from "not there" to an end, to another one, to "not there"; the
        walk ends where one step more came in than went out.
        """
        inserted = [row for row in accepted if row.new_end is None]
        payloads = {(row.key, row.id, row.start): row.payload for row in inserted}
        if len(payloads) < len({(row.key, row.id, row.start, row.payload) for row in inserted}):
            return  # a revision is of the one with its payload
        balance: dict[Any, Counter[int]] = {name: Counter() for name in payloads}
        for row, count in accepted.items():
            ends = balance.get((row.key, row.id, row.start))
            if ends is None or row.end is None:
                return
            ends[row.end if row.new_end is None else row.new_end] += count
            ends[row.end] -= count * (row.new_end is not None)
        lives = {
            name: [end for end, count in ends.items() for _ in range(count) if end != name[2]]
            for name, ends in balance.items()
        }
        if any(INFINITY in ends for ends in lives.values()):
            return
        wanted = Counter[Row]()
        meaning = query.meaning(query.first)
        for key in {key for key, *_ in lives}:
            own = [
                Event(start, end, payloads[of, id, start])
                for (of, id, start), ends in lives.items()
                for end in ends
                if of == key
            ]
            for found in evaluate(meaning, own, INFINITY, 1_000):
                extent = (found.window.start, found.window.end)
                lifetime = (found.start, found.end)
                wanted[Row(key, extent, lifetime, plain(found.value))] += 1
        assert run.output == wanted, f"missing {wanted - run.output}\nsurplus {run.output - wanted}\n{self}"

    def _spelled(self, row: HostileRow, is_blind: bool) -> HostileRow:
        is_filtered = isinstance(self.query, Query) and self.query.is_filtered
        row = row._replace(payload=None) if is_filtered else row
        if isinstance(self.query, Query) and self.query.lifetimes == "retracted":
            row = row._replace(end=None)  # which such rows do not say
        return row._replace(end=None) if is_blind and row.new_end is not None and row.end == INFINITY else row

    def _row(self, run: Run, row: HostileRow) -> Mapping[str, Any]:
        told = run.row(row.key, row.id, row.start, row.end, row.payload) | {"side": row.id % self._streams}
        return told if row.new_end is None else told | {"change": "revise", "end": row.end, "new_end": row.new_end}

    def _read(self, told: str, expected: int | None) -> HostileRow:
        """Return a row of a side output; a revision that says no end expects that one."""
        row = json.loads(told)
        id = number_of(row["id"], self.query.ids)
        end = row.get("end")
        new_end = row["new_end"]
        if row["change"] == "insert":
            return HostileRow(row["key"], id, row["start"], INFINITY if end is None else end, row["x"])
        new_end = INFINITY if new_end is None else new_end
        return HostileRow(row["key"], id, row["start"], expected if end is None else end, row["x"], new_end)


def _plain(query: Query) -> Query | None:
    """Return a query over the same windows without options that change what is live in the end."""
    if not isinstance(query.emit, EmitPolicy):
        return None
    return Query(query.window, query.modules, timestamps=query.timestamps, emit=query.emit, ids=query.ids)


OTHERWISE: Final[Sequence[dict[str, Any]]] = (
    {"late": correct(4), "emit": EmitPolicy.SPECULATIVE},
    {"late": Lateness(LatePolicy.ADJUST)},
    {"most_held": 2},
    {"timestamps": TimestampPolicy.TIME_BOUND, "emit": EmitPolicy.EAGER},
    {"window": snapshot(), "emit": early(every_count(2), refinement=Refinement.RETRACT)},
    {"forget_keys_after": 3, "emit": EmitPolicy.EAGER},
    {"forget_keys_after": 3, "emit": early(every_count(2), refinement=Refinement.RETRACT)},
    {"window": last(2), "modules": OF_ROWS["aggregate"], "lifetimes": "retracted", "has_order": True},
    {"window": batch(2), "modules": OF_ROWS["aggregate"], "lifetimes": "retracted", "has_order": True},
    {"window": Unwindowed(), "modules": FOLLOWING["test.silence"], "lifetimes": "retracted", "has_order": True},
)
"""Queries that treat rows in other ways."""


def hostile(random: Random) -> Hostile:
    """Draw rows that break the rules."""
    kind = random.random()
    query = Query(tumbling(5), ANY["aggregate"])
    if kind < 0.45:
        emit = random.choice(list(EmitPolicy))
        windows = (tumbling(8), hopping(12, 2, -5), hopping(3, 5), snapshot())
        query = Query(random.choice(windows), random.choice(list(COLUMNAR.values())), emit=emit)
    elif kind < 0.65:
        query = replace(query, window=random.choice(list(WINDOWS.values())), emit=random.choice(list(EmitPolicy)))
    elif kind < 0.85:
        query = replace(query, **random.choice(OTHERWISE))
    query = replace(query, is_filtered=random.random() < 0.2, ids=random.choice((pa.int64(), *ID_TYPES.values())))
    asked: Query | Join = query
    if kind >= 0.85:
        is_eager = random.random() < 0.5
        asked = Join(random.choice(list(JoinKind)), ("named", "named"), is_eager=is_eager, ids=query.ids)
    mishaps = Mishaps(
        random.randrange(10**9), False, None, random.choice((0.0, 0.3, 1.0)), crashes=random.choice((0.0, 0.2))
    )
    batches = list[tuple[list[HostileRow], int]]()
    watermark = -1
    is_blind = random.random() < 0.4
    ids = random.choice((3, 3, 3, 12, MOST_IDS))
    for _ in range(random.randint(1, 7)):
        count = random.choice((0, 1, 2, 3, 6, ids))
        watermark = max(watermark, random.randint(-1, 14))
        batches.append(([_drawn(random, ids, is_blind) for _ in range(count)], watermark))
    return Hostile(asked, [*batches, ([], INFINITY)], mishaps)


def _drawn(random: Random, ids: int, is_blind: bool) -> HostileRow:
    key = random.choice(("a", "a", "b", None))
    id = random.randrange(ids)
    start = random.choice((0, 1, 4, 9))
    ends = (start + 1, start + 3, 12, 13, INFINITY)
    if random.random() < 0.4:
        return HostileRow(key, id, start, random.choice((*ends, start)), start)
    expected = None if is_blind and random.random() < 0.4 else random.choice(ends)
    payload = random.choice((None, start, start, 3))
    return HostileRow(key, id, start, expected, payload, random.choice((*ends, start, start, start - 1)))
