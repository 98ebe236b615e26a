"""Columnar aggregates as an engine runs them: one lift for all rows, one computation for all windows.

The reference for what runs on arrays, as `reference.py` is for what does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from itertools import accumulate
from typing import Any

import numpy as np

from muntin.columnar.exact import exact_sums, nearest
from muntin.columnar.merging import contributions, fold_rows
from muntin.columnar.payloads import has_null, payload_arrays
from muntin.columnar.results import Ragged, results_of
from muntin.modules.columnar_aggregate import ColumnarAggregate
from muntin.schemas import Field
from muntin.schemas.components import Component, Merge


def present(form: ColumnarAggregate[object, object], reads: Field, payloads: Sequence[object]) -> list[Any]:
    """Return the payloads that a form does not leave out."""
    return [payload for payload in payloads if not (form.skips_nulls and has_null(reads, payload))]


def arrays_of(form: ColumnarAggregate[object, object], reads: Field, payloads: Sequence[object]) -> Any:
    """Return payloads as the form wants them."""
    arrays, _ = payload_arrays(reads, payloads, skips_nulls=form.skips_nulls)
    return arrays


def lift(form: ColumnarAggregate[object, object], reads: Field, payloads: Sequence[object]) -> dict[str, Any]:
    """Lift payloads, none of which is left out: an array of values for each component but counts."""
    return contributions(form, arrays_of(form, reads, payloads), len(payloads))


def keep(form: ColumnarAggregate[object, object], reads: Field, groups: Sequence[Sequence[object]]) -> dict[str, Any]:
    """Return the components of n windows, none of which is empty; their payloads are lifted all together."""
    lifted = lift(form, reads, [payload for group in groups for payload in group])
    places = _places([len(group) for group in groups])
    return {name: _kept(part, lifted.get(name), places) for name, part in form.components().items()}


def results(form: ColumnarAggregate[object, object], reads: Field, groups: Sequence[Sequence[object]]) -> list[Any]:
    """Return the results of n windows with these payloads."""
    kept = [present(form, reads, group) for group in groups]
    full = [group for group in kept if group]
    computed = iter(results_of(form, keep(form, reads, full), len(full)) if full else [])
    return [next(computed) if group else form.empty_result for group in kept]


def plain(arrays: object) -> list[Any]:
    """Copy arrays, also those of a mapping or a `Ragged`, into lists."""
    held = [(array.data, array.mask) if isinstance(array, np.ma.MaskedArray) else (array,) for array in _each(arrays)]
    return [deepcopy(part.tolist()) for parts in held for part in parts]


def protect(arrays: object) -> None:
    """Make arrays read-only, also those of a mapping or a `Ragged`."""
    for array in _each(arrays):
        array.flags.writeable = False
        if isinstance(array, np.ma.MaskedArray):
            mask: Any = array.mask.base  # `mask` is a view, made anew each time
            mask.flags.writeable = False


def _each(arrays: object) -> list[Any]:
    if isinstance(arrays, Mapping):
        return [array for name in sorted(arrays) for array in _each(arrays[name])]
    return [arrays.values, arrays.offsets] if isinstance(arrays, Ragged) else [arrays]


def _places(lengths: Sequence[int]) -> list[slice]:
    """Return the slices of consecutive groups of these lengths."""
    ends = list(accumulate(lengths))
    return [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]


def _kept(component: Component, values: Any, places: Sequence[slice]) -> Any:
    if component.merge is Merge.COUNT:
        return np.array([place.stop - place.start for place in places], "int64")
    groups = [values[place] for place in places]
    if component.merge is Merge.COLLECT:
        return Ragged.of(groups)
    if component.is_exact:
        divisors = [len(group) if component.merge is Merge.MEAN else 1 for group in groups]
        sums = [np.asarray(exact_sums(group), object) / by for group, by in zip(groups, divisors, strict=True)]
        return np.array([[nearest(exact) for exact in np.ravel(value)] for value in sums], component.dtype).reshape(
            len(groups), *component.shape
        )
    return np.concatenate([fold_rows(component, group) for group in groups])
