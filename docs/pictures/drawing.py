"""Bars of a stream, and of the results that the evaluators have for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from muntin import INFINITY, ClipPolicy, Lifetime, Module, pictures
from muntin.changes import Insertion
from muntin.drawings import Bar, Drawing, Look
from muntin.testing import Batch, Boundary, Computation, KeyedChange, Script, WindowedQuery
from muntin.testing.timeline import row_of
from muntin.windows import WindowSpecification
from muntin_engine.evaluators.general.general_run import GeneralRun
from muntin_engine.evaluators.keyed.bucket import KeyedBucket
from muntin_engine.evaluators.keyed.keyed_run import BatchResult
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.testing.reference_output import progress_of
from muntin_engine.time.changes import InputChange, OutputChange, OutputKind, Timing
from muntin_engine.wire.shuffle import InputReport

Part: TypeAlias = Iterable[Bar | str] | str
"""Bars below one another, or a line of text above those that follow."""


@dataclass(frozen=True)
class Picture:
    """A picture of the documentation.

    Attributes:
        name: Name of its file, without the suffix.
        title: Subject, in a few words.
        rows: Bars, and lines of text between them, from top to bottom.
        shows: Window kinds and members of policies that it explains.
    """

    name: str
    title: str
    rows: tuple[Bar | str, ...]
    shows: tuple[object, ...] = ()

    @classmethod
    def of(cls, name: str, title: str, *parts: Part, shows: Iterable[object] = ()) -> Picture:
        """Return a picture of parts from top to bottom."""
        rows: list[Bar | str] = []
        for part in parts:
            rows += [part] if isinstance(part, str) else part
        return cls(name, title, tuple(rows), tuple(shows))

    def svg(self) -> str:
        """Return the picture as SVG."""
        return pictures.Picture(Drawing(self.rows, self.title)).svg()


# Results of the reference evaluator


def events_of(script: Script, label: str = "", note: str = "") -> list[Bar]:
    """Return the events that a stream means.

    Args:
        script: Stream.
        label: Text before each event; by default its id.
        note: Text behind each event, with braces for its payload.
    """
    events = script.history()[None].items()
    return [Bar(label or str(id), event.start, event.end, note.format(event.payload)) for (id, _), event in events]


def windows_of(
    script: Script,
    window: WindowSpecification,
    module: Module,
    label: str = "windows",
    note: str = "{}",
    clip: ClipPolicy = ClipPolicy.NONE,
) -> list[Bar]:
    """Return the windows of a stream that are final, each with the result of an aggregate."""
    output = script.run(WindowedQuery(window, [Computation(module)], clip)).get(None, [])
    return [Bar(label, row.window.start, row.window.end, note.format(row.value[0]), Look.WINDOW) for row in output]


def windows_with_results(script: Script, query: WindowedQuery, label: str = "windows") -> list[Bar]:
    """Return the windows in which an operator has results."""
    windows = dict.fromkeys(row.window for row in script.run(query)[None])
    return [Bar(label, window.start, window.end, look=Look.WINDOW) for window in windows]


def results_of(script: Script, query: WindowedQuery, label: str, note: str = "{}") -> list[Bar]:
    """Return the results of an operator, each with its own lifetime.

    Args:
        script: Stream.
        query: Query of the operator.
        label: Text before each result, with braces for its value.
        note: Text in each result, with braces for its value.
    """
    output = script.run(query)[None]
    return [Bar(label.format(row.value), row.start, row.end, note.format(row.value), Look.RESULT) for row in output]


def watermark_of(script: Script) -> list[Bar]:
    """Return the watermark of a stream that is not closed."""
    watermark = script.last_watermark()
    return [Bar("watermark", watermark, watermark, str(watermark))]


# Output of the general evaluator, micro-batch by micro-batch


def batches_of(query: EvaluatorQuery, script: Script) -> list[BatchResult]:
    """Return the output of each micro-batch of a stream with one key."""
    bucket = KeyedBucket(GeneralRun, query, MemoryCells(), Codec(), {})
    key = (None,)
    results: list[BatchResult] = []
    for batch in script.batches():
        rows = _input_rows(query, batch)
        results.append(bucket.process([(key, rows)], [InputReport(progress_of(query.window, batch))]))
    return results


def _input_rows(query: EvaluatorQuery, batch: Batch) -> list[InputChange]:
    rows = []
    for step in batch.changes:
        change = step.change
        id = change.id if query.has_ids else None
        new_end = None if isinstance(change, Insertion) else change.new_end
        rows.append(InputChange(id, change.event.start, change.event.end, (change.event.payload,), new_end))
    return rows


def input_of(script: Script) -> Iterator[Bar]:
    """Yield the input of each micro-batch, beside its number."""
    number = 1
    for step in script.steps:
        if isinstance(step, Boundary):
            number += 1
        elif isinstance(step, KeyedChange):
            event = step.change.event
            note = "" if event.payload is None else str(event.payload)
            yield Bar(f"batch {number}", event.start, event.end, note)
        elif step.time != INFINITY:
            yield Bar("punctuation", step.time, step.time, str(step.time))


def output_of(query: EvaluatorQuery, script: Script) -> Iterator[Bar]:
    """Yield the output of each micro-batch, beside its number."""
    for number, result in enumerate(batches_of(query, script), 1):
        yield from output_bars(result, f"batch {number}")


def input_and_output_of(
    query: EvaluatorQuery, script: Script, label: str = "", watermark: str = "watermark", result: str = "result"
) -> Iterator[Bar | str]:
    """Yield the input of each micro-batch, and its output below.

    Args:
        query: Query.
        script: Stream.
        label: Text before each row; by default its id, behind a sign for the kind of change.
        watermark: Text before a watermark.
        result: Text before a result.
    """
    results = batches_of(query, script)
    for number, (batch, emitted) in enumerate(zip(script.batches(), results, strict=True), 1):
        yield f"micro-batch {number}"
        for step in batch.changes:
            yield change_bar(step, label)
        if batch.punctuation is not None and batch.punctuation != INFINITY:
            yield Bar(watermark, batch.punctuation, batch.punctuation, str(batch.punctuation))
        yield from output_bars(emitted, result)


def change_bar(step: KeyedChange, label: str = "") -> Bar:
    """Return a change of the input without its payload: a revision has a pale old end, a retraction is struck out."""
    bar = row_of(step)
    assert isinstance(bar, Bar)
    return replace(bar, label=label or bar.label, note="")


def output_bars(result: BatchResult, label: str) -> Iterator[Bar]:
    """Yield the output of a micro-batch, retractions first."""
    changes: list[OutputChange] = []
    for _, key_changes in result.output:
        changes += key_changes
    for change in sorted(changes, key=lambda change: change.kind is OutputKind.INSERT):
        yield _output_bar(label, change)


def _output_bar(label: str, change: OutputChange) -> Bar:
    """Return a change of the output: a revision has a pale old end, a retraction is struck out."""
    value: Any = change.value[0] if isinstance(change.value, tuple) else change.value
    note = f"early: {value}" if change.timing is Timing.EARLY else str(value)
    bar = Bar(label, change.start, change.end, note, Look.RESULT)
    if change.kind is OutputKind.REVISE and change.new_end is not None:
        return replace(bar, end=change.new_end, whole=Lifetime(change.start, change.end))
    return replace(bar, is_struck=change.kind is OutputKind.RETRACT)


def changes_between(previous: list[Bar], current: list[Bar]) -> Iterator[Bar]:
    """Yield the differences of two outputs: results that are gone, have another end, or are new."""
    starts = {(bar.label, bar.start): bar for bar in current}
    revised = []
    for bar in previous:
        if bar in current:
            continue
        successor = starts.get((bar.label, bar.start))
        if successor is None:
            yield replace(bar, is_struck=True)
        else:
            revised.append(successor)
            yield replace(successor, whole=Lifetime(bar.start, bar.end))
    for bar in current:
        if bar not in previous and bar not in revised:
            yield bar
