"""Columnar aggregates as an engine runs them: one lift for all rows, one computation for all windows.

It is the reference for columnar evaluation, as `reference.py` is for evaluation by payloads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from itertools import accumulate, chain
from typing import Any

import numpy as np

from muntin.columnar.exact import exact_sums, nearest
from muntin.columnar.merging import contributions, fold_rows
from muntin.columnar.payloads import has_null, payload_arrays
from muntin.columnar.results import Ragged, results_of
from muntin.modules.columnar_aggregate import ColumnarAggregate
from muntin.schemas import Field
from muntin.schemas.components import Component, Merge


def payloads_read(form: ColumnarAggregate[object, object], reads: Field, payloads: Sequence[object]) -> list[Any]:
    """Return the payloads that a form reads: without nulls, if it skips nulls."""
    if not form.skips_nulls:
        return list(payloads)
    return [payload for payload in payloads if not has_null(reads, payload)]


def arrays_of(form: ColumnarAggregate[object, object], reads: Field, payloads: Sequence[object]) -> Any:
    """Return payloads as the arrays that `lift` of the form gets."""
    arrays, _ = payload_arrays(reads, payloads, skips_nulls=form.skips_nulls)
    return arrays


def lift(form: ColumnarAggregate[object, object], reads: Field, payloads: Sequence[object]) -> dict[str, Any]:
    """Lift payloads that the form reads: return an array of values for each component but counts."""
    return contributions(form, arrays_of(form, reads, payloads), len(payloads))


def windows(
    form: ColumnarAggregate[object, object], reads: Field, groups: Sequence[Sequence[object]]
) -> dict[str, Any]:
    """Return the components of n windows, each with n values; the payloads of all windows are lifted in one call.

    Args:
        form: The aggregate.
        reads: Its input, with type variables bound.
        groups: The payloads of each window, at least one each.
    """
    lifted = lift(form, reads, list(chain.from_iterable(groups)))
    slices = _slices([len(group) for group in groups])
    components: dict[str, Any] = {}
    for name, component in form.components().items():
        # `lift` returns nothing for a count: `get` gives None for it.
        components[name] = _merged(component, lifted.get(name), slices)
    return components


def results(form: ColumnarAggregate[object, object], reads: Field, groups: Sequence[Sequence[object]]) -> list[Any]:
    """Return the results of n windows from the payloads of each; an empty window has the form's empty result."""
    groups_read = [payloads_read(form, reads, group) for group in groups]
    not_empty = [group for group in groups_read if group]
    if not not_empty:
        return [form.empty_result for _ in groups]

    # The form computes all windows with payloads in one call; their results go back between those of empty windows.
    computed_results = iter(results_of(form, windows(form, reads, not_empty), len(not_empty)))
    results_in_order: list[Any] = []
    for group in groups_read:
        result = next(computed_results) if group else form.empty_result
        results_in_order.append(result)
    return results_in_order


def plain(arrays: object) -> list[Any]:
    """Copy one array, or those of a mapping or a `Ragged`, into lists, which can be compared."""
    copies: list[Any] = []
    for array in _each(arrays):
        if isinstance(array, np.ma.MaskedArray):
            # `tolist` makes new lists, but an array of objects may hold lists of its own, which it would share.
            copies.append(deepcopy(array.data.tolist()))
            copies.append(array.mask.tolist())
        else:
            copies.append(deepcopy(array.tolist()))
    return copies


def protect(arrays: object) -> None:
    """Make arrays read-only, also those of a mapping or a `Ragged`."""
    for array in _each(arrays):
        array.flags.writeable = False
        if isinstance(array, np.ma.MaskedArray):
            mask: Any = array.mask.base  # `mask` is a view, made anew each time
            mask.flags.writeable = False


def _each(arrays: object) -> list[Any]:
    """List the arrays of a mapping, by name, or of a `Ragged`, or one array."""
    if isinstance(arrays, Mapping):
        return list(chain.from_iterable(_each(arrays[name]) for name in sorted(arrays)))
    if isinstance(arrays, Ragged):
        return [arrays.values, arrays.offsets]
    return [arrays]


def _slices(lengths: Sequence[int]) -> list[slice]:
    """Return the slices of consecutive groups of these lengths."""
    ends = list(accumulate(lengths))
    return [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]


def _merged(component: Component, values: Any, slices: Sequence[slice]) -> Any:
    """Merge the values of a component, group by group.

    Args:
        component: The component.
        values: The values of all payloads; None for a count.
        slices: The slice of these values that each group has.

    Returns:
        One value per group.
    """
    if component.merge is Merge.COUNT:
        return np.array([group.stop - group.start for group in slices], "int64")
    groups = [values[group] for group in slices]
    if component.merge is Merge.COLLECT:
        return Ragged.of(groups)
    if not component.is_exact:
        return np.concatenate([fold_rows(component, group) for group in groups])
    # Sums and means of floats are computed exactly and rounded once, as the engine does.
    rounded: list[list[float]] = []
    for group in groups:
        divisor = len(group) if component.merge is Merge.MEAN else 1
        exact = np.asarray(exact_sums(group), object) / divisor
        rounded.append([nearest(value) for value in np.ravel(exact)])
    return np.array(rounded, component.dtype).reshape(len(groups), *component.shape)
