"""Windows with their results, and how forms compute these from merged states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from muntin import Window
from muntin.columnar.arrays import Array, IntArray
from muntin_engine.evaluators.arrays.stretches.bound_form import BoundForm, first_failing
from muntin_engine.evaluators.arrays.stretches.key_table import keys_in
from muntin_engine.evaluators.arrays.stretches.stretch_table import Part, StretchTable
from muntin_engine.time.changes import Key

EVENT_ID: Final = Part(-1, "event_id")
"""The part of results that may be retracted: their ids as events of the output."""


class ResultWindows(NamedTuple):
    """Windows whose results are told: complete ones, or the changes of results; the pairs of a join are some too.

    Attributes:
        place: The specification of the query that they are of.
        windows: From start to end in ticks, with merged values. The weight of a result that is retracted is -1.
        keys: A row of keys for each.
        values: The results of modules that are called one by one, module by module; None of forms, whose results are
            computed as columns when these are written.
        value_places: The place of each window's result among the values; None where each window has one of its own.
    """

    place: int
    windows: StretchTable
    keys: pa.Table
    values: Sequence[list[Any]] | None = None
    value_places: IntArray | None = None

    def __len__(self) -> int:
        """The number of windows."""
        return len(self.windows)

    def located(self, place: int) -> tuple[Key, Window]:
        """Return the key of a window, and its extent."""
        (key,) = keys_in(self.keys.slice(place, 1))
        return key, Window(int(self.windows.low[place]), int(self.windows.high[place]))

    @property
    def results(self) -> IntArray:
        """The place of each window's result."""
        return np.arange(len(self.windows)) if self.value_places is None else self.value_places


def form_results(form: BoundForm, place: int, windows: StretchTable) -> Array:
    """Return a form's result for each window as an array, whose masked entries are null.

    A window all of whose payloads were left out has the form's `empty_result`, and the form does not see it.

    Args:
        form: The form.
        place: Its place among those of the query.
        windows: The merged states of all forms.

    Raises:
        ModuleFailedError: The form raised an exception.
        ModuleContractError: It returned something else than one result per window.
    """
    payloads = windows.payloads(place)
    with_payloads = np.flatnonzero(payloads)
    if not len(with_payloads):
        empty = form.empty_result
        return np.ma.MaskedArray(np.full(len(payloads), empty, object), empty is None)
    if len(with_payloads) == len(payloads):
        return _computed(form, place, windows, payloads)
    results = _computed(form, place, windows.take(with_payloads), payloads[with_payloads])
    return _between_empty_windows(results, with_payloads, len(payloads), form.empty_result)


def _computed(form: BoundForm, place: int, windows: StretchTable, payloads: IntArray) -> Array:
    components = {name: windows.parts[Part(place, name)].merged for name in form.stored}
    return form.results(components, payloads)


def _between_empty_windows(results: Array, places: IntArray, length: int, empty: object) -> Array:
    """Put results at their places, and the empty result at all others."""
    data = np.ma.getdata(results)
    spread = np.zeros(length, data.dtype) if empty is None else np.full(length, empty, data.dtype)
    is_null = np.full(length, empty is None)
    spread[places] = data
    is_null[places] = np.ma.getmaskarray(results)
    return np.ma.MaskedArray(spread, is_null)


def failing_window(form: BoundForm, place: int, windows: StretchTable) -> int | None:
    """Return the place of a window whose result a form fails to compute by itself; None if there is none.

    Cost: some twenty calls of the form, on half of the windows, a quarter and so on.

    Args:
        form: The form.
        place: Its place among those of the query.
        windows: All windows.
    """
    return first_failing(len(windows), lambda start, stop: form_results(form, place, windows.take(slice(start, stop))))
