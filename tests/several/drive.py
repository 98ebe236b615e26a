"""Runs a union through a module with two inputs batch by batch, beside what the result is by definition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa

from muntin import EARLIEST, INFINITY, Module, hopping, tumbling
from muntin.progress import Punctuated
from muntin.schemas import describe
from muntin.windows import HoppingWindows, WindowSpecification
from muntin_engine.core.source_rules import SourceRules
from muntin_engine.exchange.bucket_task import run_bucket
from muntin_engine.exchange.distribute import distribute
from muntin_engine.exchange.shuffle import collect, from_blob
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.plan import NamedColumn
from muntin_engine.plan.several_inputs import plan_several
from muntin_engine.state.cells import MemoryCells
from tests.differential.lifetimes import Row, random_lives, random_stream
from tests.several.modules import KeptMembers, Members, TimedMembers
from tests.spark_units.tasks import TICKS, rows, task_of

STREAMS = ("west", "east", "else")
"""The streams of the union: the left one, the right one, and one that no module reads."""

OF_AGGREGATE = pa.schema([("key", pa.string()), ("window", TICKS), ("m", pa.list_(pa.int64()))])
OF_OPERATOR = pa.schema([("key", pa.string()), ("lifetime", TICKS), ("value", pa.int64())])
WINDOWS = (tumbling(10), tumbling(7, 3), hopping(12, 5))
Result = tuple[int, int, tuple[int, ...]]


def task(module: Module, window: WindowSpecification, evaluator: str, *, has_ids: bool) -> TaskPayload:
    """Return a query of one bucket over a union of three streams, of which the module reads two."""
    names = ("start", "change", "k0", "i0", "i1", "i2", *(["end", "id", "new_end"] if has_ids else []))
    columns = [describe(str, "source"), describe(int, "west"), describe(int, "east")]
    plain = task_of(
        given=[describe(int, "x")],
        names={name: name for name in ("source", *names)},
        has_ids=has_ids,
        is_point=not has_ids,
        has_changes=True,
        buckets=1,
        evaluator=evaluator,
        plan={"window": window},
        inputs=(pa.string(), pa.int64(), pa.int64()),
        results=OF_OPERATOR if module.is_operator else OF_AGGREGATE,
    )
    places = {"left": 1, "right": 2}
    sources = {"left": ("west",), "right": ("east.near", "east.far")}
    planned = plan_several(
        "" if module.is_operator else "m",
        type(module),
        {},
        sources,
        {"left": columns[1:2], "right": columns[2:]},
        0,
        lambda name, *_: places[name],
    )
    (given,) = plain.plan.inputs
    union = replace(
        given,
        columns=replace(given.columns, payload=tuple(NamedColumn(one.name, "") for one in columns)),
        sources=("west", "east.near", "east.far", "else"),
        rules=tuple(SourceRules(name, Punctuated()) for name in ("west", "east.near", "east.far", "else")),
    )
    return replace(plain, plan=replace(plain.plan, inputs=(union,), modules=(planned,)))


def batch(key: str, source: str, given: Sequence[Row], *, has_ids: bool) -> pa.RecordBatch:
    """Return rows of a source; a number is in the column of its stream alone, and null where a stream lacks it."""
    names = ("change", "id", "start", "end", "new_end", "i0")
    told = {name: list(values) for name, values in zip(names, zip(*given, strict=True), strict=True)}
    stream, numbers = source.partition(".")[0], told.pop("i0")
    told = {name: values for name, values in told.items() if has_ids or name in ("change", "start")}
    nothing = [None] * len(given)
    return rows(
        **told,
        k0=[key] * len(given),
        i0=pa.array([source] * len(given), pa.string()),
        i1=numbers if stream == "west" else nothing,
        i2=numbers if stream == "east" else nothing,
        source=pa.array([source] * len(given), pa.string()),
    )


def expected(
    window: HoppingWindows, lives: Sequence[tuple[str, str, Any]], complete_to: int, horizon: int
) -> list[Any]:
    """Return the results by definition: for each key and window, the even left numbers and the odd right ones.

    A window has a result if an event of any stream lives in it; a key's events of the other streams are left out.
    """
    found = []
    for first in range(window.offset - 60 * window.hop, 400, window.hop):
        end = first + window.size
        if end > complete_to or (complete_to == INFINITY and first >= horizon):
            continue
        for key in ("a", "b"):
            inside = [
                (source, life) for of, source, life in lives if of == key and life.start < end and first < life.end
            ]
            numbers = [2 * life.payload for source, life in inside if source == "west"]
            numbers += [2 * life.payload + 1 for source, life in inside if source.startswith("east")]
            if inside:
                found.append((key, first, end, tuple(sorted(numbers)) if numbers else None))
    return sorted(found, key=repr)


def check(seed: int) -> None:
    """Run random streams through a random module and evaluator, with restarts, and compare after each batch."""
    random = Random(seed)
    has_ids = random.random() < 0.6
    window, module = random.choice(WINDOWS), random.choice((Members(), TimedMembers(), KeptMembers()))
    is_sliced = isinstance(module, KeptMembers) and not has_ids and random.random() < 0.7
    query = task(module, window, "sliced" if is_sliced else "general", has_ids=has_ids)
    lives, waiting, number = [], [], 0
    for source in ("west", "east.near", "east.far", "else"):
        for key in random.choice(("a", "ab", "ab")):
            made = random_lives(random, random.randint(0, 5), are_revised=has_ids)
            number += 100
            if not has_ids:
                made = [(life and life._replace(end=life.start + 1), some[:1]) for life, some in made]
            lives += [
                (key, source, life._replace(payload=life.payload + number)) for life, _ in made if life is not None
            ]
            stream = random_stream(random, [some for _, some in made])
            waiting.append((key, source, [[_numbered(row, number) for row in some] for some in stream]))
    counts = Counter[str]()
    cells, results, reached = MemoryCells(), list[Any](), dict.fromkeys(query.input.given.sources, EARLIEST)
    held = {source: [one for one in waiting if one[1] == source] for source in reached}
    while any(some for _, _, some in waiting):
        if random.random() < 0.3:
            query = replace(query)  # a new process, which has the cells alone
        key, source, batches = random.choice([one for one in waiting if one[2]])
        given = batches.pop(0)
        others = [other for other in held[source] if other[0] != key and other[2]]
        said = max(row.start for row in given if row.change == "punctuate" and row.start is not None)
        if others:  # a source speaks for all of its keys
            given = [row for row in given if row.change != "punctuate"]
        else:
            reached[source] = max(reached[source], said)
        if given:
            take(query, cells, batch(key, source, given, has_ids=has_ids), results, counts)
        assert sorted(results, key=repr) == expected(window, lives, min(reached.values()), INFINITY), seed
    for source in reached:
        take(query, cells, batch("a", source, [Row("close")], has_ids=has_ids), results, counts)
    assert sorted(results, key=repr) == expected(window, lives, INFINITY, min(reached.values())), seed
    assert counts["accepted"] == counts["sent"], f"{seed}: {counts}"


def _numbered(row: Row, number: int) -> Row:
    return row._replace(
        id=None if row.id is None else row.id + number, payload=None if row.payload is None else row.payload + number
    )


def emitted(
    query: TaskPayload, cells: MemoryCells, given: pa.RecordBatch, counts: Counter[str] | None = None
) -> list[dict[str, Any]]:
    """Run a micro-batch, of which no row is late or rejected, and return its results; count rows sent and accepted."""
    counts = Counter() if counts is None else counts
    counts["sent"] += sum(change not in ("punctuate", "close") for change in given.column("change").to_pylist())
    sent, found = (row for out in distribute(query, [given]) for row in out.to_pylist()), list[dict[str, Any]]()
    for blob in run_bucket(query, 0, cells, collect(sent)):
        assert blob.stream not in ("late", "rejected", "shed")
        counts[blob.stream] += blob.rows
        found += from_blob(blob.data).to_pylist() if blob.data is not None else []
    return found


def take(
    query: TaskPayload, cells: MemoryCells, given: pa.RecordBatch, results: list[Any], counts: Counter[str]
) -> None:
    """Run a micro-batch, and add what it emits."""
    for row in emitted(query, cells, given, counts):
        numbers = row["m"]
        found = None if numbers is None else tuple(numbers)
        results.append((row["key"], row["window"]["start"], row["window"]["end"], found))
