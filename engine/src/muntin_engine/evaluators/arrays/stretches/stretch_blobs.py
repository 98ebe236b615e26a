"""Batches as bytes: how they cross the shuffle, and how they lie in a checkpoint.

A blob has a table of keys and a table of partial states that number them, each as an Arrow stream. Whole numbers take
as few bytes as they need. What is no number of a stretch, such as rows and Python states, comes packed after these.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import msgpack
import numpy as np
import pyarrow as pa

from muntin import INFINITY, Component, Merge
from muntin.columnar.arrays import IntArray
from muntin.columnar.single import records_of
from muntin.versions import is_same_version
from muntin_engine.evaluators.arrays.stretches.bound_form import PAYLOADS, BoundForm
from muntin_engine.evaluators.arrays.stretches.component_values import (
    ComponentValues,
    Dense,
    from_arrow,
    from_plain,
    nothing,
)
from muntin_engine.evaluators.arrays.stretches.row_values import RowLists, RowValues
from muntin_engine.evaluators.arrays.stretches.stretch_table import ROWS, Part, StretchTable, parts_of
from muntin_engine.state.compatibility import SchemaVersion
from muntin_engine.wire import blobs
from muntin_engine.wire.narrow_numbers import codes_array, narrow_table, numbers_of


class Unpacked(NamedTuple):
    """A blob.

    Attributes:
        keys: Its keys, each once.
        batch: Its stretches, whose keys are places among these.
        packed: What comes after the tables.
    """

    keys: pa.Table
    batch: StretchTable
    packed: Sequence[bytes]


def to_blob(keys: pa.Table, batch: StretchTable, packed: Sequence[bytes] = ()) -> bytes:
    """Return a batch, and the keys that its codes number, as bytes."""
    numbers = {"low": batch.low, "weight": batch.weight}
    if not batch.are_points:
        is_endless = batch.high == INFINITY
        numbers["length"] = np.where(is_endless, 0, batch.high - batch.low)  # one number for all points with a gap
        numbers["endless"] = is_endless.astype(np.int64)
    columns = {"key": codes_array(batch.keys, len(keys))}
    for part, values in batch.parts.items():
        if isinstance(values, RowValues):
            columns |= dict(zip(values.whole.column_names, values.table.columns, strict=True))
        elif isinstance(values, RowLists):
            packed = [values.to_blob(), *packed]
        elif isinstance(values, Dense) and values.array.dtype == np.int64 and not values.component.shape:
            numbers[_name(part)] = values.array
        else:
            columns[_name(part)] = values.to_arrow()
    blob: bytes = msgpack.packb([*map(blobs.to_blob, (keys, narrow_table(numbers, columns))), *packed])
    return blob


def from_blob(blob: bytes, parts: Mapping[Part, Component | None]) -> Unpacked:
    """Undo `to_blob`.

    Args:
        blob: The bytes.
        parts: The components of the query's partial states, and None for lists of rows. Columns of rows are those named
            `i` and something, and without parts there are rows, be it without a column.
    """
    keys_blob, table_blob, *packed = msgpack.unpackb(blob)
    keys, table = map(blobs.from_blob, (keys_blob, table_blob))
    numbers, found = numbers_of(table), dict[Part, object]()
    for part, component in parts.items():
        name = _name(part)
        if component is None:
            lists, *packed = packed
            found[part] = RowLists.from_blob(lists, numbers["weight"])
        elif name in numbers:
            found[part] = Dense(component, numbers[name].view(component.dtype))
        elif name in table.column_names:
            found[part] = from_arrow(component, table.column(name))
    columns = [name for name in table.column_names if name[0] == "i"]
    if columns or not parts:
        found[ROWS] = RowValues.of(table.select(columns))
    low, codes = numbers["low"], table.column("key").to_numpy().astype(np.int64)
    high = low
    if "length" in numbers:
        high = np.where(numbers["endless"] > 0, INFINITY, low + numbers["length"])
    return Unpacked(keys, StretchTable(codes, low, high, numbers["weight"], found), packed)


def _name(part: Part) -> str:
    return f"{part.form} {part.name}"


def from_old_blob(
    blob: bytes, forms: Sequence[BoundForm], schema_version: SchemaVersion
) -> tuple[pa.Table, StretchTable]:
    """Read a blob of an older schema version of a query, as the present version would have written it.

    What was added since has no rows in it, and what is gone is left out.

    Cost: a call of `upgrade_state` for each stretch, of the modules that are outdated; arrays for the others.

    Args:
        blob: The bytes.
        forms: The forms of the query.
        schema_version: The schema version that wrote them.

    Raises:
        ModuleFailedError: A form's `upgrade_state` raised an exception, or left a component out.
    """
    places = schema_version.places
    old = {
        place: _old_parts(was, schema_version.components[was])
        for place, (form, was) in enumerate(zip(forms, places, strict=True))
        if was is not None and is_outdated_form(form, schema_version.versions[was])
    }
    parts: dict[Part, tuple[Part, Component]] = {}
    for part, component in parts_of(forms).items():
        was = places[part.form]
        if was is not None and (part.form not in old or part.name == PAYLOADS):
            parts[part] = Part(was, part.name), component
    read: dict[Part, Component] = dict(parts.values())
    keys, batch, _ = from_blob(blob, {**read, **{part: one for some in old.values() for part, one in some.items()}})
    values = {part: batch.parts[was] for part, (was, _) in parts.items() if was in batch.parts}
    values |= {part: nothing(one, len(batch)) for part, one in parts_of(forms).items() if places[part.form] is None}
    for place, some in old.items():
        was = places[place]
        assert was is not None, "it is outdated"
        values |= _upgraded(place, forms[place], some, batch, batch.payloads(was), schema_version.versions[was])
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
    place: int, form: BoundForm, parts: Mapping[Part, Component], batch: StretchTable, taken: IntArray, version: str
) -> dict[Part, ComponentValues]:
    payloads = taken.tolist()
    kept = {
        part.name: batch.parts[part].plain() if component.is_lifted else payloads for part, component in parts.items()
    }
    states = form.upgrade(records_of(payloads, kept), version)
    return {
        Part(place, name): from_plain(component, [state[name] for state in states])
        for name, component in form.stored.items()
    }
