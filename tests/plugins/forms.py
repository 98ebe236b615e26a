"""Array forms beside the modules they are of: how the tests run both."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from random import Random
from typing import Any

import numpy as np

from muntin import ColumnarAggregate, Merge
from muntin.columnar import Ragged, fold_rows, payload_arrays
from muntin.schemas import describe


def form_of(module: Any, annotation: Any) -> ColumnarAggregate[Any, Any]:
    """Return the array form of a module for payloads of a type."""
    form = module.columnar_form(describe(annotation, "input"))
    assert isinstance(form, ColumnarAggregate)
    return form


def result(module: Any, payloads: Sequence[Any]) -> Any:
    """Return the result of a module, or of a form, for payloads that are added in one call."""
    return module.compute_result(module.add_events(module.create_state(), payloads))


def tree_result(module: Any, payloads: Sequence[Any], random: Random) -> Any:
    """Return the result for payloads that are dealt to some states, which are merged in any order."""
    states = [module.create_state() for _ in range(random.randint(1, 5))]
    for payload in random.sample(payloads, len(payloads)):
        place = random.randrange(len(states))
        states[place] = module.add_events(states[place], [payload])
    while len(states) > 1:
        random.shuffle(states)
        states.append(module.combine(states.pop(), states.pop()))
    return module.compute_result(states[0])


def results_at_once(form: ColumnarAggregate[Any, Any], groups: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the results for several groups in one call of `compute_results`; no group is empty."""
    arrays, sizes = zip(*(_arrays(form, group) for group in groups), strict=True)
    parts = form.components().items()
    kept = {name: _stack(part, [lifted.get(name) for lifted in arrays], sizes) for name, part in parts}
    with np.errstate(all="ignore"):
        results = form.compute_results(kept)
    is_null = np.ma.getmaskarray(results)
    return [None if missing else value for value, missing in zip(results.tolist(), is_null, strict=True)]


def same(left: Any, right: Any) -> bool:
    """True for equal values of one type; NaN equals itself."""
    if type(left) is not type(right):
        return False
    return bool(left == right) or (isinstance(left, float) and isnan(left) and isnan(right))


def _arrays(form: ColumnarAggregate[Any, Any], payloads: Sequence[Any]) -> tuple[Any, int]:
    arrays, size = payload_arrays(form.input_field(), payloads, skips_nulls=form.skips_nulls)
    return dict(form.lift(arrays)), size


def _stack(part: Any, lifted: Sequence[Any], sizes: Sequence[int]) -> Any:
    if part.merge is Merge.COUNT:
        return np.array(sizes)
    if part.merge is Merge.COLLECT:
        ordered = [np.sort(np.asarray(values, part.dtype)) for values in lifted]
        return Ragged(np.concatenate(ordered), np.concatenate([[0], np.cumsum(sizes)]))
    return np.concatenate([fold_rows(part, values) for values in lifted])
