"""Partial states that older versions of a query's modules wrote."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from muntin import Component, Merge
from muntin.columnar import Sums
from muntin.columnar.states import component_array, plain_values, records_of
from muntin.versions import is_same_version
from muntin_engine.evaluators.columnar.partials import Collected, Part, Partials, Values, parts_of
from muntin_engine.evaluators.columnar.wire import from_blob
from muntin_engine.exchange.bound_form import BoundForm
from muntin_engine.state.compatibility import SchemaVersion


def from_old_blob(blob: bytes, forms: Sequence[BoundForm], schema_version: SchemaVersion) -> tuple[pa.Table, Partials]:
    """Read a blob of an older schema version of a query, as the present version would have written it.

    Cost: a call of `upgrade_state` for each key and slice, of the modules that are outdated; arrays for the others.

    Args:
        blob: The bytes.
        forms: The forms of the query.
        schema_version: The schema version that wrote them.

    Raises:
        ModuleFailedError: A form's `upgrade_state` raised an exception, or left a component out.
    """
    old = {
        place: _old_parts(place, schema_version.components[place])
        for place, form in enumerate(forms)
        if is_outdated_form(form, schema_version.versions[place])
    }
    others = [part for part in parts_of(forms) if part.form not in old or part.name == ""]
    keys, partials = from_blob(blob, [*others, *(part for parts in old.values() for part in parts)])
    values = {part: value for part, value in partials.parts.items() if part in others}
    for place, parts in old.items():
        values |= _upgraded(place, forms[place], parts, partials, schema_version.versions[place])
    return keys, Partials(partials.slices, partials.keys, partials.rows, values, partials.lasts)


def is_outdated_form(form: BoundForm, version: str) -> bool:
    """Return True if partial states that a version of a form's module wrote are to be upgraded."""
    return hasattr(form.form, "upgrade_state") and not is_same_version(form.version, version)


def _old_parts(place: int, components: Sequence[Sequence[Any]]) -> list[Part]:
    """Return the parts of an older form, as a checkpoint describes them; their merge functions are unknown."""
    found = []
    for name, merge, dtype, shape in components:
        function = operator.add if Merge(merge) is Merge.CUSTOM else None
        found.append(Part(place, name, Component(Merge(merge), dtype, None, tuple(shape), function)))
    return found


def _upgraded(
    place: int, form: BoundForm, parts: Sequence[Part], partials: Partials, version: str
) -> dict[Part, Values]:
    payloads = np.asarray(partials.payloads(place)).tolist()
    kept = {part.name: _kept(part, partials.parts, payloads) for part in parts}
    states = form.upgrade(records_of(payloads, kept), version)
    return {
        part: _array(part, [state[part.name] for state in states])
        for part in (Part(place, name, component) for name, component in form.stored.items())
    }


def _kept(part: Part, held: Mapping[Part, Values], payloads: list[int]) -> Sequence[object]:
    """Return the values of a part, one by one, as plain data."""
    if not part.component.is_lifted:
        return payloads
    if part not in held:
        return [[] for _ in payloads]  # what collects is left out where nothing was
    values = held[part]
    if isinstance(values, Sums):
        return values.plain()
    if not isinstance(values, Collected):
        return plain_values(values)
    flat, ends = plain_values(values.values), np.cumsum(values.counts).tolist()
    return [flat[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _array(part: Part, values: list[Any]) -> Values:
    if part.component.is_exact:
        return Sums.from_plain(values, part.component.shape)
    if not part.is_collected:
        return component_array(part.component, values)
    flat = component_array(part.component, [value for some in values for value in some])
    return Collected(flat, np.array([len(some) for some in values], np.int64))
