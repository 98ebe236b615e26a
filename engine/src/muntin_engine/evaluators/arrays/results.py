"""Results of whole windows from their merged states, and the window or row on which a form fails, by bisection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from muntin import Window
from muntin.columnar.arrays import Array, IntArray
from muntin.errors import ModuleFailedError
from muntin_engine.evaluators.arrays.bound_form import BoundForm
from muntin_engine.evaluators.arrays.key_table import keys_in
from muntin_engine.evaluators.arrays.stretch_table import Part, StretchTable
from muntin_engine.time.changes import Key

EVENT_ID: Final = Part(-1, "event_id")
"""The part of results that may be retracted: their ids as events of the output."""


class Closed(NamedTuple):
    """Complete windows, or the changes of results: the weight of one that is retracted is -1.

    Attributes:
        place: The specification of the query that they are of.
        windows: From start to end in ticks, with merged values; pairs of a join and corrections have the same form.
        keys: A row of keys for each.
        values: The results of modules that keep Python states, module by module; None of forms.
        of: The place of each window's result among these; None where each window has the one at its own.
    """

    place: int
    windows: StretchTable
    keys: pa.Table
    values: Sequence[list[Any]] | None = None
    of: IntArray | None = None

    def window_count(self) -> int:
        """Return the number of windows of keys."""
        return len(self.windows)

    def at(self, place: int) -> tuple[Key, Window]:
        """Return the key of a window, and its extent."""
        (key,) = keys_in(self.keys.slice(place, 1))
        return key, Window(int(self.windows.low[place]), int(self.windows.high[place]))

    @property
    def results(self) -> IntArray:
        """The place of each window's result."""
        return np.arange(len(self.windows)) if self.of is None else self.of


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
    held = np.flatnonzero(payloads)
    if not len(held):
        empty = form.empty_result
        return np.ma.MaskedArray(np.full(len(payloads), empty, object), empty is None)
    some = windows if len(held) == len(payloads) else windows.take(held)
    results = form.results({name: some.parts[Part(place, name)].merged for name in form.stored}, payloads[held])
    return results if some is windows else _spread(results, held, len(payloads), form.empty_result)


def _spread(some: Array, places: IntArray, length: int, empty: object) -> Array:
    """Return results at their places, and between them what empty windows have."""
    data = np.ma.getdata(some)
    results = np.zeros(length, data.dtype) if empty is None else np.full(length, empty, data.dtype)
    is_null = np.full(length, empty is None)
    results[places] = data
    is_null[places] = np.ma.getmaskarray(some)
    return np.ma.MaskedArray(results, is_null)


def failing_window(form: BoundForm, place: int, windows: StretchTable) -> int | None:
    """Return the place of a window whose result a form fails to compute by itself; None if there is none.

    Cost: some twenty calls of the form, on half of the windows, a quarter and so on.

    Args:
        form: The form.
        place: Its place among those of the query.
        windows: All windows.
    """
    return first_failing(len(windows), lambda start, stop: form_results(form, place, windows.take(slice(start, stop))))


def failing_row(form: BoundForm, inputs: Sequence[pa.Array], length: int) -> int | None:
    """Return the place of a row that a form fails to lift by itself; None if there is none."""
    return first_failing(
        length, lambda start, stop: form.lift([part.slice(start, stop - start) for part in inputs], stop - start)
    )


def first_failing(length: int, call: Callable[[int, int], object]) -> int | None:
    """Return a place for which a call fails by itself; None if there is none.

    Args:
        length: How many places there are.
        call: Takes the places from one up to another.
    """

    def fails(start: int, stop: int) -> bool:
        try:
            call(start, stop)
        except ModuleFailedError:
            return True
        return False

    low, high = 0, length
    while high - low > 1:
        half = (low + high) // 2
        if fails(low, half):
            high = half
        else:
            low = half
    return low if length and fails(low, high) else None
