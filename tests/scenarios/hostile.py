"""Rows that break every rule of a stream: all evaluators agree about each row and about the output.

Rows have few ids, starts and ends, so that they meet: events are revised several times, deleted and inserted again;
rows are late, duplicated, of events that never came, or wait for others. Each evaluator, and a second run of the last
one, has another order of rows in a micro-batch, other tasks, restarts and crashes.
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
from tests.scenarios.query import Query
from tests.scenarios.reference_input import Arrival
from tests.scenarios.running import Mishaps, Row, Run, comparable
from tests.scenarios.windows import WINDOWS


class HostileRow(NamedTuple):
    """An insertion, or a revision if it has a new end; a revision whose end is None expects whatever end there is."""

    key: str | None
    id: int
    start: int
    end: int | None
    payload: int | None
    new_end: int | None = None


class HostileBatch(NamedTuple):
    """A micro-batch: its rows, and the watermark after them."""

    rows: Sequence[HostileRow]
    watermark: int


@dataclass(frozen=True)
class Hostile:
    """A query and rows of which many are illegal.

    Attributes:
        query: The query.
        batches: The micro-batches; the last one closes the stream.
        mishaps: Mishaps on the way.
    """

    query: Query | Join
    batches: Sequence[HostileBatch]
    mishaps: Mishaps

    def check(self) -> int:
        """Run each evaluator that can run the query, and the last one twice; return how many rows were refused.

        Raises:
            AssertionError: Two runs differ, a row is neither accepted nor refused, or the output is not that of the
                rows that were accepted.
        """
        plans = list(self.query.evaluators.values())
        runs: list[Run] = []
        for place, plan in enumerate([*plans, plans[-1]]):
            mishaps = replace(self.mishaps, seed=self.mishaps.seed + place)
            runs.append(Run(self.query, plan, mishaps))

        # After each micro-batch all runs have the same output, and have accepted and refused the same rows.
        all_rows = Counter[HostileRow]()
        for rows, watermark in self.batches:
            all_rows.update(rows)
            for run in runs:
                arrival = Arrival((Batch((), watermark),) * self._streams)
                run.process(arrival, [self._projected(run, row) for row in rows])
            outcomes = [(run.output, run.refused, run.counts["accepted"], run.counts["filtered"]) for run in runs]
            for outcome in outcomes:
                assert outcome == outcomes[-1], f"after {rows}:\n{outcome}\n{outcomes[-1]}\n{self}"
        assert all(run.is_empty for run in runs)

        # Each row is accepted or refused, and no row is refused that never came.
        last_run = runs[-1]
        is_blind = any(row.new_end is not None and row.end is None for row in all_rows)
        refused = Counter[HostileRow]()
        for (_, _, _, text), count in last_run.refused.items():
            refused[self._row_of_json(text, None if is_blind else INFINITY)] += count
        never_came = self._as_refused(refused, is_blind) - self._as_refused(all_rows, is_blind)
        assert not never_came, f"refused what never came: {never_came}"
        accounted_rows = last_run.counts["accepted"] + last_run.counts["filtered"] + refused.total()
        assert accounted_rows == all_rows.total(), f"{last_run.counts} of {all_rows}"

        # The output is that of the reference over the accepted rows, where these alone determine it.
        if not is_blind and isinstance(self.query, Query) and self.query == _without_options(self.query):
            self._compare_with_reference(last_run, self.query, all_rows - refused)
        return refused.total()

    run = check

    @property
    def size(self) -> tuple[int, int]:
        """The number of its rows, and of its micro-batches."""
        return sum(len(rows) for rows, _ in self.batches), len(self.batches)

    def rows_by_stream(self, run: Run) -> list[list[Mapping[str, Any]]]:
        """Return all rows of each stream, as the projection has them."""
        rows: list[list[Mapping[str, Any]]] = [[] for _ in range(self._streams)]
        for batch_rows, _ in self.batches:
            for row in batch_rows:
                rows[row.id % self._streams].append(self._projected(run, row))
        return rows

    @property
    def _streams(self) -> int:
        return 2 if isinstance(self.query, Join) else 1

    def _compare_with_reference(self, run: Run, query: Query, accepted: Counter[HostileRow]) -> None:
        """Compare the output with that of the reference, where the accepted rows determine the events that are left."""
        events_by_key = _remaining_events(accepted)
        if events_by_key is None:
            return
        expected = Counter[Row]()
        reference_query = query.reference_query(query.first)
        for key, events in events_by_key.items():
            for result in evaluate(reference_query, events, INFINITY, 1_000):
                extent = (result.window.start, result.window.end)
                lifetime = (result.start, result.end)
                expected[Row(key, extent, lifetime, comparable(result.value))] += 1
        assert run.output == expected, f"missing {expected - run.output}\nsurplus {run.output - expected}\n{self}"

    def _as_refused(self, rows: Counter[HostileRow], is_blind: bool) -> Counter[HostileRow]:
        """Return rows as far as a side output tells them apart.

        It has null for the expected end of a revision, be it no end or any, and for what a filter left out.
        """
        query = self.query
        refused = Counter[HostileRow]()
        for row, count in rows.items():
            visible_row = row
            if isinstance(query, Query) and query.is_filtered:
                visible_row = visible_row._replace(payload=None)
            if isinstance(query, Query) and query.lifetimes == "retracted":
                visible_row = visible_row._replace(end=None)  # such rows have no end
            if is_blind and row.new_end is not None and visible_row.end == INFINITY:
                visible_row = visible_row._replace(end=None)
            refused[visible_row] += count
        return refused

    def _projected(self, run: Run, row: HostileRow) -> Mapping[str, Any]:
        """Return a row as the projection has it."""
        insertion = run.row(row.key, row.id, row.start, row.end, row.payload) | {"side": row.id % self._streams}
        if row.new_end is None:
            return insertion
        return insertion | {"change": "revise", "end": row.end, "new_end": row.new_end}

    def _row_of_json(self, text: str, expected_end: int | None) -> HostileRow:
        """Read a row of a side output.

        Args:
            text: Row as JSON.
            expected_end: Expected end of a revision that has none.
        """
        row = json.loads(text)
        id = number_of(row["id"], self.query.ids)
        end = row.get("end")
        new_end = row["new_end"]
        if row["change"] == "insert":
            return HostileRow(row["key"], id, row["start"], INFINITY if end is None else end, row["x"])
        new_end = INFINITY if new_end is None else new_end
        return HostileRow(row["key"], id, row["start"], expected_end if end is None else end, row["x"], new_end)


def _remaining_events(accepted: Counter[HostileRow]) -> dict[str | None, list[Event[Any]]] | None:
    """Return the events by key that accepted rows leave; None if the rows do not determine them, or one has no end.

    The rows of an event are the steps of a walk from "not there" to an end, to another one, to "not there"; the walk
    ends where one step more came in than went out.
    """
    payloads: dict[tuple[str | None, int, int], int | None] = {}  # by key, id and start
    for row in accepted:
        if row.new_end is not None:
            continue
        payload = payloads.setdefault((row.key, row.id, row.start), row.payload)
        if payload != row.payload:
            return None  # revisions would have to be told apart by their payloads

    # For each end of an event: the steps of its walk that lead there, less those that leave it.
    balances: dict[tuple[str | None, int, int], Counter[int]] = {name: Counter() for name in payloads}
    for row, count in accepted.items():
        balance = balances.get((row.key, row.id, row.start))
        if balance is None or row.end is None:
            return None
        if row.new_end is None:
            balance[row.end] += count
        else:
            balance[row.end] -= count
            balance[row.new_end] += count

    events: dict[str | None, list[Event[Any]]] = {}
    for (key, id, start), balance in balances.items():
        for end, count in balance.items():
            if end == INFINITY and count > 0:
                return None
            if end != start:  # a revision to its start deletes an event
                event = Event(start, end, payloads[key, id, start])
                events.setdefault(key, []).extend([event] * count)
    return events


def _without_options(query: Query) -> Query | None:
    """Return a query without options that change what is live in the end; None if it has early results."""
    if not isinstance(query.emit, EmitPolicy):
        return None
    return Query(query.window, query.modules, timestamps=query.timestamps, emit=query.emit, ids=query.ids)


OTHER_RULES: Final[Sequence[dict[str, Any]]] = (
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
"""Changes of a query, each of which treats rows in another way."""


def hostile(random: Random) -> Hostile:
    """Draw a query, and rows that break the rules."""
    query = _random_query(random)
    mishaps = Mishaps(
        random.randrange(10**9),
        disorder=False,
        cuts=None,
        restarts=random.choice((0.0, 0.3, 1.0)),
        crashes=random.choice((0.0, 0.2)),
    )
    batches: list[HostileBatch] = []
    watermark = -1
    is_blind = random.random() < 0.4
    id_count = random.choice((3, 3, 3, 12, MOST_IDS))
    for _ in range(random.randint(1, 7)):
        row_count = random.choice((0, 1, 2, 3, 6, id_count))
        watermark = max(watermark, random.randint(-1, 14))
        batch_rows = [_random_row(random, id_count, is_blind) for _ in range(row_count)]
        batches.append(HostileBatch(batch_rows, watermark))
    batches.append(HostileBatch([], INFINITY))
    return Hostile(query, batches, mishaps)


def _random_query(random: Random) -> Query | Join:
    """Draw a query of events with ids: on arrays, over any windows, with other rules for rows, or a join."""
    kind = random.random()
    query = Query(tumbling(5), ANY["aggregate"])
    if kind < 0.45:
        emit = random.choice(list(EmitPolicy))
        window = random.choice((tumbling(8), hopping(12, 2, -5), hopping(3, 5), snapshot()))
        query = Query(window, random.choice(list(COLUMNAR.values())), emit=emit)
    elif kind < 0.65:
        query = replace(query, window=random.choice(list(WINDOWS.values())), emit=random.choice(list(EmitPolicy)))
    elif kind < 0.85:
        query = replace(query, **random.choice(OTHER_RULES))
    query = replace(query, is_filtered=random.random() < 0.2, ids=random.choice((pa.int64(), *ID_TYPES.values())))
    if kind < 0.85:
        return query
    is_eager = random.random() < 0.5
    return Join(random.choice(list(JoinKind)), ("named", "named"), is_eager=is_eager, ids=query.ids)


def _random_row(random: Random, id_count: int, is_blind: bool) -> HostileRow:
    """Draw a row, mostly a change of an event that may not exist; a blind stream has changes without the end."""
    key = random.choice(("a", "a", "b", None))
    id = random.randrange(id_count)
    start = random.choice((0, 1, 4, 9))
    ends = (start + 1, start + 3, 12, 13, INFINITY)
    if random.random() < 0.4:
        end = random.choice((*ends, start))  # an event that ends where it starts is illegal
        return HostileRow(key, id, start, end, payload=start)
    expected_end = None if is_blind and random.random() < 0.4 else random.choice(ends)
    payload = random.choice((None, start, start, 3))
    new_end = random.choice((*ends, start, start, start - 1))  # at its start a revision deletes; before it is illegal
    return HostileRow(key, id, start, expected_end, payload, new_end)
