"""Windows that are emitted before they are complete, and corrected when their results change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from muntin import TimestampPolicy, Window
from muntin.columnar.arrays import IntArray
from muntin.columnar.results import python_values
from muntin.errors import ModuleFailedError
from muntin_engine.core.changes import Key, OutputChange, OutputKind
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.arrays.failing import failing_window
from muntin_engine.evaluators.arrays.key_table import KeyTable
from muntin_engine.evaluators.arrays.results import form_results
from muntin_engine.evaluators.arrays.stretch_table import StretchTable
from muntin_engine.evaluators.revised.live_results import KeptResult, LiveResults, Place, named_keys
from muntin_engine.exchange.bound_form import BoundForm


class Corrections(NamedTuple):
    """The changes of the output in a batch.

    Attributes:
        changes: They, with their keys.
        results: The results that are live now, or were retracted, by key and window.
        serial: The largest id of an output event so far.
    """

    changes: Sequence[tuple[Key, OutputChange]]
    results: dict[Place, KeptResult]
    serial: int


class _Found(NamedTuple):
    """The results of a window of a key."""

    code: int
    window: Window
    values: tuple[Any, ...]


def corrected(
    query: EvaluatorQuery,
    forms: Sequence[BoundForm],
    keys: KeyTable,
    live: LiveResults,
    found: Iterable[StretchTable],
    touched: IntArray,
    serials: tuple[int, int],
) -> Corrections:
    """Return the changes from live results to those that windows have now; `live` is changed, too.

    A result that is the same stays, with its id. Any other is retracted, and the new one inserted.

    Cost: a few Python steps for each of the windows.

    Args:
        query: The query.
        forms: Its forms.
        keys: The keys.
        live: The live results before the batch.
        found: The windows with members whose results may have changed: all of the keys that rows are about.
        touched: The codes of these keys.
        serials: The number of the batch, and the largest id of an output event so far.

    Raises:
        ModuleFailedError: A module raised an exception.
    """
    batch, serial = serials
    results = [result for windows in found for result in _results(forms, keys, windows)]
    present = {(code, window.start) for code, window, _ in results}
    changed: dict[Place, KeptResult] = {}
    output: list[tuple[int, OutputChange]] = []

    def retract(code: int, window: Window, old: KeptResult) -> None:
        assert old.id is not None, "it is live"
        output.append((code, _change(query, OutputKind.RETRACT, old.id, window, tuple(old.values))))

    for code, start, old in [*_left(live, touched, present)]:
        retract(code, Window(start, old.end), old)
        changed[code, start] = KeptResult(batch, None, old.end, ())
        live.put(code, start, changed[code, start])
    for code, window, values in results:
        before = live.by_key.get(code, {}).get(window.start)
        if before is not None:
            if live.same(code, window.start, values):
                continue
            retract(code, window, before)
        serial += 1
        output.append((code, _change(query, OutputKind.INSERT, serial, window, values)))
        changed[code, window.start] = KeptResult(batch, serial, window.end, values)
        live.put(code, window.start, changed[code, window.start])
    names = named_keys(keys, np.array([code for code, _ in output], np.int64))
    return Corrections([(key, change) for key, (_, change) in zip(names, output, strict=True)], changed, serial)


def _left(live: LiveResults, touched: IntArray, present: Set[Place]) -> Iterator[tuple[int, int, KeptResult]]:
    """Yield the live results of touched keys whose windows have no members any more."""
    for code in touched.tolist():
        for start, old in live.by_key.get(code, {}).items():
            if (code, start) not in present:
                yield code, start, old


def _results(forms: Sequence[BoundForm], keys: KeyTable, windows: StretchTable) -> Iterator[_Found]:
    """Yield the results of windows."""
    columns = []
    for place, form in enumerate(forms):
        try:
            columns.append(python_values(form_results(form, place, windows)))
        except ModuleFailedError as failure:
            row = failing_window(form, place, windows)
            if row is None:
                raise
            (key,) = named_keys(keys, windows.keys[row : row + 1])
            raise failure.at(key, Window(int(windows.low[row]), int(windows.high[row]))) from failure.__cause__
    starts, codes = windows.low.tolist(), windows.keys.tolist()
    for code, start, end, *values in zip(codes, starts, windows.high.tolist(), *columns, strict=True):
        yield _Found(code, Window(start, end), tuple(values))


def _change(query: EvaluatorQuery, kind: OutputKind, id: int, window: Window, values: tuple[Any, ...]) -> OutputChange:
    at_end = query.timestamps is TimestampPolicy.POINT_AT_END
    start, end = (window.end, window.end + 1) if at_end else (window.start, window.end)
    return OutputChange(kind, id, window, start, end, values)
