"""Results of whole windows from their merged states."""

from __future__ import annotations

import numpy as np

from muntin.columnar import Ragged, Sums
from muntin.columnar.arrays import Array, IntArray
from muntin_engine.evaluators.columnar.partials import Part
from muntin_engine.evaluators.columnar.window_closing import Merged, Windows
from muntin_engine.exchange.bound_form import BoundForm


def form_results(form: BoundForm, place: int, windows: Windows) -> Array:
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
    kept = {name: windows.parts[Part(place, name, component)] for name, component in form.stored.items()}
    held = np.flatnonzero(payloads)
    if not len(held):
        empty = form.empty_result
        return np.ma.MaskedArray(np.full(len(payloads), empty, object), empty is None)
    if len(held) == len(payloads):
        return form.results(kept, payloads)
    some = form.results({name: _take(values, held) for name, values in kept.items()}, payloads[held])
    return _spread(some, held, len(payloads), form.empty_result)


def _take(values: Merged, places: IntArray) -> Merged:
    """Return the values of the windows that have any."""
    if isinstance(values, Sums):
        return values.take(places)
    if isinstance(values, Ragged):
        return Ragged(values.values, np.concatenate([[0], np.cumsum(values.counts[places])]))
    return values[places]


def _spread(some: Array, places: IntArray, length: int, empty: object) -> Array:
    """Return results at their places, and between them what empty windows have."""
    data = np.ma.getdata(some)
    results = np.zeros(length, data.dtype) if empty is None else np.full(length, empty, data.dtype)
    is_null = np.full(length, empty is None)
    results[places] = data
    is_null[places] = np.ma.getmaskarray(some)
    return np.ma.MaskedArray(results, is_null)
