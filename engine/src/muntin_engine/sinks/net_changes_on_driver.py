"""The net changes of a changelog that is on the driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from muntin_engine.sinks.json_text import json_of

if TYPE_CHECKING:
    import pyarrow as pa

_KINDS: Final = ("insert", "revise", "retract")


def net_changes_on_driver(changes: pa.Table, names: Sequence[str]) -> pa.Table:
    """Add up changes as `net_changes` adds up those of a DataFrame: one row for each row of the table that changes.

    A changelog is a sum over rows with their ends: an insertion adds one, a retraction takes one away, and a revision
    does both, with the old end and with the new one. What remains of a row is one end, to upsert or to delete, or
    nothing.

    Args:
        changes: The changes, in any order.
        names: The columns that name a row: the keys and `event_id`.

    Cost: about two microseconds for each change and column of `names`; no job of Spark's, which takes longer than that
    for a micro-batch of ten thousand changes.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    has_ends = "new_end" in changes.column_names
    ends: list[Any] = [None] * changes.num_rows
    new_ends = ends
    if has_ends:
        ends = pc.struct_field(changes["lifetime"], "end").to_pylist()
        new_ends = changes["new_end"].to_pylist()

    # For each row, the sum of the signs of each end.
    row_ids = zip(*(_hashable_values(changes[name]) for name in names), strict=True)
    first_places: dict[tuple[Any, ...], int] = {}
    signs_by_row: dict[tuple[Any, ...], Counter[Any]] = {}
    columns = zip(row_ids, changes["change"].to_pylist(), ends, new_ends, strict=True)
    for place, (row_id, change, end, new_end) in enumerate(columns):
        if change not in _KINDS:
            continue
        first_places.setdefault(row_id, place)
        signs = signs_by_row.setdefault(row_id, Counter())
        signs[end] += 1 if change == "insert" else -1  # a revision takes the old end away
        if change == "revise":
            signs[new_end] += 1

    # A row is upserted with the end that was added, or else deleted.
    places: list[int] = []
    kinds: list[str] = []
    last_ends: list[Any] = []
    for row_id, signs in signs_by_row.items():
        nonzero_signs = {end: sign for end, sign in signs.items() if sign != 0}
        if not nonzero_signs:
            continue  # it came and went
        end = max(nonzero_signs, key=nonzero_signs.__getitem__)
        places.append(first_places[row_id])
        kinds.append("upsert" if nonzero_signs[end] > 0 else "delete")
        last_ends.append(end)

    # All changes of a row have its values, so that the first one stands for it, with another kind and end.
    net_changes = changes.take(pa.array(places, pa.int64())).combine_chunks()
    change_place = net_changes.column_names.index("change")
    net_changes = net_changes.set_column(change_place, "change", pa.array(kinds, pa.string()))
    if not has_ends:
        return net_changes
    return _with_ends(net_changes, last_ends).drop_columns(["new_end"])


def _with_ends(rows: pa.Table, ends: list[Any]) -> pa.Table:
    """Replace the ends of the lifetimes of rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lifetime_type = rows.schema.field("lifetime").type
    starts = pc.struct_field(rows["lifetime"], "start").combine_chunks()
    new_ends = pa.array(ends, lifetime_type.field("end").type)
    lifetimes = pa.StructArray.from_arrays([starts, new_ends], fields=list(lifetime_type))
    return rows.set_column(rows.column_names.index("lifetime"), "lifetime", lifetimes)


def _hashable_values(column: pa.ChunkedArray) -> list[Any]:
    """Return values that are equal where Spark puts rows in one group: NaN equals itself, and 0.0 equals -0.0."""
    import pyarrow as pa

    values: list[Any] = column.to_pylist()
    if pa.types.is_floating(column.type):
        return [None if value is None else json_of(value + 0.0) for value in values]
    if pa.types.is_nested(column.type):
        return [json_of(value) for value in values]
    return values
