"""Batches as bytes: how they cross the shuffle, and how they lie in a checkpoint.

A blob has a table of keys and a table of partial states that number them, each as an Arrow stream. Whole numbers take
as few bytes as they need. Rows and Python states, which are no columns of that table, come packed after the two.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import msgpack
import numpy as np
import pyarrow as pa

from muntin import INFINITY, Component, Merge
from muntin.columnar.single import records_of
from muntin_engine.evaluators.arrays.stretches.blob_columns import BlobColumns, codes_array, narrow_table, numbers_of
from muntin_engine.evaluators.arrays.stretches.bound_form import PAYLOADS, BoundForm
from muntin_engine.evaluators.arrays.stretches.component_values import (
    COUNTED,
    ComponentValues,
    Dense,
    from_arrow,
    from_plain,
    nothing,
)
from muntin_engine.evaluators.arrays.stretches.row_values import RowLists, RowValues
from muntin_engine.evaluators.arrays.stretches.stretch_table import ROWS, Part, StretchTable, components_of
from muntin_engine.state.schema_versions import SchemaVersion, is_outdated
from muntin_engine.wire import blobs
from muntin_engine.wire.arrow_arrays import numpy_array


class Unpacked(NamedTuple):
    """A decoded blob.

    Attributes:
        keys: The keys of the blob, each once.
        stretches: The stretches of the blob, whose keys are places among `keys`.
        packed: The bytes that come after the tables.
    """

    keys: pa.Table
    stretches: StretchTable
    packed: Sequence[bytes]


def to_blob(keys: pa.Table, stretches: StretchTable, packed: Sequence[bytes] = ()) -> bytes:
    """Encode stretches with their keys.

    Args:
        keys: The keys.
        stretches: The stretches, whose keys are places among `keys`.
        packed: Further bytes, which come after the tables.
    """
    blob_columns = BlobColumns()
    numbers = blob_columns.numbers
    numbers["low"] = stretches.low
    numbers["weight"] = stretches.weight
    if not stretches.are_points:
        # Lengths are written in place of ends: they are small, and often all equal, which takes no room.
        is_endless = stretches.high == INFINITY
        numbers["length"] = np.where(is_endless, 0, stretches.high - stretches.low)
        numbers["endless"] = is_endless.astype(np.int64)
    blob_columns.columns["key"] = codes_array(stretches.keys, len(keys))
    for part, values in stretches.parts.items():
        values.encode(_name(part), blob_columns)
    table = narrow_table(numbers, blob_columns.columns)
    parts = [blobs.to_blob(keys), blobs.to_blob(table), *blob_columns.packed, *packed]
    blob: bytes = msgpack.packb(parts)
    return blob


def from_blob(blob: bytes, parts: Mapping[Part, Component | None], *, has_rows: bool = False) -> Unpacked:
    """Decode a blob that `to_blob` encoded.

    Args:
        blob: The bytes.
        parts: The component of each part of the partial states; None for a part that is lists of rows.
        has_rows: True if the blob has rows besides the parts, even if these rows have no columns. A blob without parts
            always has rows.
    """
    keys_blob, table_blob, *packed = msgpack.unpackb(blob)
    keys = blobs.from_blob(keys_blob)
    table = blobs.from_blob(table_blob)
    numbers = numbers_of(table)
    values: dict[Part, object] = {}
    for part, component in parts.items():
        name = _name(part)
        if component is None:  # lists of rows come after the tables, and before the further bytes of the caller
            packed_lists, *packed = packed
            values[part] = RowLists.from_blob(packed_lists, numbers["weight"])
        elif name in numbers:
            values[part] = Dense(component, numbers[name].view(component.dtype))
        elif name in table.column_names:
            values[part] = from_arrow(component, table.column(name))
        # Otherwise the part was not written. Only the count `PAYLOADS` may be missing, if the form left out no row:
        # then it is the weight.

    # The names of the columns of rows begin with `i`.
    row_columns = [name for name in table.column_names if name[0] == "i"]
    if row_columns or has_rows or not parts:
        values[ROWS] = RowValues.of(table.select(row_columns))
    codes = numpy_array(table.column("key")).astype(np.int64)
    low = numbers["low"]
    high = low  # of points, the ends are the very array of the starts
    if "length" in numbers:
        high = np.where(numbers["endless"] > 0, INFINITY, low + numbers["length"])
    return Unpacked(keys, StretchTable(codes, low, high, numbers["weight"], values), packed)


def _name(part: Part) -> str:
    """Return the name of the column of a part."""
    return f"{part.form} {part.name}"


def from_old_blob(blob: bytes, forms: Sequence[BoundForm], schema_version: SchemaVersion) -> Unpacked:
    """Decode a blob of an older schema version of a query, and bring its states into the present version.

    The state of a form that was added since then is that of no rows; the state of a form that was removed is left out.

    Cost: for a form whose version has changed, a call of `upgrade_state` for each stretch; the others stay arrays.

    Args:
        blob: The bytes.
        forms: The forms of the query.
        schema_version: The schema version that wrote the blob.

    Raises:
        ModuleFailedError: A form's `upgrade_state` raised an exception, or left a component out.
    """
    stored_forms = [_stored_form(form, place, schema_version) for place, form in enumerate(forms)]
    parts: dict[Part, Component] = {}
    for stored_form in stored_forms:
        parts |= stored_form.parts()
    unpacked = from_blob(blob, parts)

    values: dict[Part, object] = {}
    for place, stored_form in enumerate(stored_forms):
        for name, component_values in stored_form.values(unpacked.stretches).items():
            values[Part(place, name)] = component_values
    return Unpacked(unpacked.keys, replace(unpacked.stretches, parts=values), packed=())


def _stored_form(form: BoundForm, place: int, schema_version: SchemaVersion) -> _StoredForm:
    """Find out how an older schema version of the query stored a form: not at all, in an older version, or as now.

    Args:
        form: The form.
        place: The place of the form among those of the present query.
        schema_version: The older schema version.
    """
    stored_place = schema_version.places[place]
    if stored_place is None:
        return _AddedForm(form)
    version = schema_version.versions[stored_place]
    if is_outdated(form.form, form.version, version):
        return _OutdatedForm(form, stored_place, version, schema_version.components[stored_place])
    return _UnchangedForm(form, stored_place)


class _StoredForm(ABC):
    """A form, as an older schema version of the query had it."""

    @abstractmethod
    def parts(self) -> dict[Part, Component]:
        """Return the parts of the stretches that a blob has."""

    @abstractmethod
    def values(self, stretches: StretchTable) -> Mapping[str, ComponentValues]:
        """Return the components that the form has now, by name, given the stretches of a blob."""


@dataclass(frozen=True)
class _AddedForm(_StoredForm):
    """A form that the older version did not have: its components are those of no rows.

    Attributes:
        form: The form.
    """

    form: BoundForm

    def parts(self) -> dict[Part, Component]:
        """Return no parts."""
        return {}

    def values(self, stretches: StretchTable) -> Mapping[str, ComponentValues]:
        """Return the identity of each component."""
        return {name: nothing(component, len(stretches)) for name, component in components_of(self.form).items()}


@dataclass(frozen=True)
class _UnchangedForm(_StoredForm):
    """A form whose components are the same as in the older version.

    Attributes:
        form: The form.
        place: The place that it had among the forms of the older version.
    """

    form: BoundForm
    place: int

    def parts(self) -> dict[Part, Component]:
        """Return the components of the form in the place that it had."""
        return {Part(self.place, name): component for name, component in components_of(self.form).items()}

    def values(self, stretches: StretchTable) -> Mapping[str, ComponentValues]:
        """Return the components as they are; the number of payloads is left out if the form took all rows."""
        values: dict[str, ComponentValues] = {}
        for part in self.parts():
            if part in stretches.parts:
                values[part.name] = stretches.parts[part]
        return values


@dataclass(frozen=True)
class _OutdatedForm(_StoredForm):
    """A form whose components were written by an older version of it, which it upgrades.

    Attributes:
        form: The form as it is now.
        place: The place that it had among the forms of the older version of the query.
        version: The version that the form had.
        component_data: The components that it had, as a checkpoint describes them.
    """

    form: BoundForm
    place: int
    version: str
    component_data: Sequence[Sequence[Any]]

    def parts(self) -> dict[Part, Component]:
        """Return the components of the older version."""
        parts = {Part(self.place, PAYLOADS): COUNTED}
        for name, merge, dtype, shape in self.component_data:
            # The function of a custom merge is not in a checkpoint. Any will do, as these values are never merged.
            function = operator.add if Merge(merge) is Merge.CUSTOM else None
            component = Component(Merge(merge), dtype, identity=None, shape=tuple(shape), function=function)
            parts[Part(self.place, name)] = component
        return parts

    def values(self, stretches: StretchTable) -> Mapping[str, ComponentValues]:
        """Have the form upgrade its state of each stretch, as plain data; return the components that it has now."""
        payloads = stretches.payloads(self.place).tolist()
        plain_values: dict[str, Sequence[object]] = {}
        for part, component in self.parts().items():
            if part.name == PAYLOADS:
                continue
            # A component that is not lifted is a count, which is not stored: it is the number of payloads.
            plain_values[part.name] = stretches.parts[part].plain() if component.is_lifted else payloads
        states = self.form.upgrade(records_of(payloads, plain_values), self.version)

        values: dict[str, ComponentValues] = {}
        stored_payloads = stretches.parts.get(Part(self.place, PAYLOADS))
        if stored_payloads is not None:  # missing if the form took all rows
            values[PAYLOADS] = stored_payloads
        for name, component in self.form.stored.items():
            values[name] = from_plain(component, [state[name] for state in states])
        return values
