"""Partial states that older versions of a query's modules wrote."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from muntin import Component, Merge
from muntin.columnar.single import records_of
from muntin.versions import is_same_version
from muntin_engine.evaluators.arrays.stretch_table import Part, StretchTable, parts_of
from muntin_engine.evaluators.arrays.values import ComponentValues, from_plain
from muntin_engine.evaluators.arrays.wire import from_blob
from muntin_engine.exchange.bound_form import PAYLOADS, BoundForm
from muntin_engine.state.compatibility import SchemaVersion


def from_old_blob(
    blob: bytes, forms: Sequence[BoundForm], schema_version: SchemaVersion
) -> tuple[pa.Table, StretchTable]:
    """Read a blob of an older schema version of a query, as the present version would have written it.

    Cost: a call of `upgrade_state` for each stretch, of the modules that are outdated; arrays for the others.

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
    parts: dict[Part, Component] = {}
    for part, component in parts_of(forms).items():
        if part.form not in old or part.name == PAYLOADS:
            parts[part] = component
    keys, batch, _ = from_blob(blob, {**parts, **{part: one for some in old.values() for part, one in some.items()}})
    values = {part: batch.parts[part] for part in parts if part in batch.parts}
    for place, some in old.items():
        values |= _upgraded(place, forms[place], some, batch, schema_version.versions[place])
    return keys, replace(batch, parts=values)


def is_outdated_form(form: BoundForm, version: str) -> bool:
    """Return True if partial states that a version of a form's module wrote are to be upgraded."""
    return hasattr(form.form, "upgrade_state") and not is_same_version(form.version, version)


def _old_parts(place: int, components: Sequence[Sequence[Any]]) -> dict[Part, Component]:
    """Return the parts of an older form, as a checkpoint describes them; their merge functions are unknown."""
    found = {}
    for name, merge, dtype, shape in components:
        function = operator.add if Merge(merge) is Merge.CUSTOM else None
        found[Part(place, name)] = Component(Merge(merge), dtype, None, tuple(shape), function)
    return found


def _upgraded(
    place: int, form: BoundForm, parts: Mapping[Part, Component], batch: StretchTable, version: str
) -> dict[Part, ComponentValues]:
    payloads = batch.payloads(place).tolist()
    kept = {
        part.name: batch.parts[part].plain() if component.is_lifted else payloads for part, component in parts.items()
    }
    states = form.upgrade(records_of(payloads, kept), version)
    return {
        Part(place, name): from_plain(component, [state[name] for state in states])
        for name, component in form.stored.items()
    }
