"""The net effect of changes that are on the driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from muntin_engine.sinks.json_text import json_of

if TYPE_CHECKING:
    import pyarrow as pa


def net_table(changes: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return what `net_changes` returns of a DataFrame.

    Args:
        changes: The changes, in any order.
        names: The columns that name a row: the keys and `event_id`.

    Cost: about two microseconds for each change and column of `names`; no job of Spark's, which takes longer than that
    for a micro-batch of ten thousand changes.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    ids = zip(*(_hashable(changes[name]) for name in names), strict=True)
    has_ends = "new_end" in changes.column_names
    nothing = [None] * changes.num_rows
    ends = pc.struct_field(changes["lifetime"], "end").to_pylist() if has_ends else nothing
    new_ends = changes["new_end"].to_pylist() if has_ends else nothing
    signs: dict[tuple[Any, ...], Counter[Any]] = {}
    first: dict[tuple[Any, ...], int] = {}
    rows = zip(ids, changes["change"].to_pylist(), ends, new_ends, strict=True)
    for place, (row_id, change, end, new_end) in enumerate(rows):
        if change not in ("insert", "revise", "retract"):
            continue
        first.setdefault(row_id, place)
        of = signs.setdefault(row_id, Counter())
        of[end] += 1 if change == "insert" else -1
        if change == "revise":
            of[new_end] += 1
    last = {
        row_id: max(filter(itemgetter(1), of.items()), key=itemgetter(1))
        for row_id, of in signs.items()
        if any(of.values())
    }
    net = changes.take(pa.array([first[row_id] for row_id in last], pa.int64())).combine_chunks()
    kinds = pa.array(["upsert" if sign > 0 else "delete" for _, sign in last.values()], pa.string())
    net = net.set_column(net.column_names.index("change"), "change", kinds)
    if not has_ends:
        return net
    extent = net.schema.field("lifetime").type
    until = pa.array([end for end, _ in last.values()], extent.field("end").type)
    lifetimes = pa.StructArray.from_arrays(
        [pc.struct_field(net["lifetime"], "start").combine_chunks(), until], fields=list(extent)
    )
    return net.set_column(net.column_names.index("lifetime"), "lifetime", lifetimes).drop_columns(["new_end"])


def _hashable(column: pa.ChunkedArray) -> list[Any]:
    """Return values of which equal ones are those that Spark groups: NaN is itself, and 0.0 is -0.0."""
    import pyarrow as pa

    values: list[Any] = column.to_pylist()
    if pa.types.is_floating(column.type):
        return [None if value is None else json_of(value + 0.0) for value in values]
    return list(map(json_of, values)) if pa.types.is_nested(column.type) else values
