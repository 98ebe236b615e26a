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
    """Add up the changes of a keyed table to at most one change for each row of it, an upsert or a delete.

    Each change counts for an id and an end of a lifetime: an insertion is +1, a retraction -1, and a revision is -1 for
    the old end and +1 for the new one. So the sum for an end is 1 if these changes give the row that end, -1 if they
    take it away, and 0 if they do both. A row is upserted if the sum for some end is 1, and otherwise deleted if the
    sum for some end is -1.

    Args:
        changes: The changes, in any order.
        names: The columns that identify a row: the keys and `event_id`.

    Returns:
        The changes, with `upsert` or `delete` in the column `change`, and without `new_end`.

    Cost: about two microseconds for each change and column of `names`. Up to ten thousand changes, that is less than a
    job of Spark's would take.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    has_ends = "new_end" in changes.column_names
    ends: list[Any] = [None] * changes.num_rows
    new_ends = ends
    if has_ends:
        ends = pc.struct_field(changes["lifetime"], "end").to_pylist()
        new_ends = changes["new_end"].to_pylist()

    # The sums of a row, by end; a table without revisions has one end for all, None.
    row_ids = zip(*(hashable_values(changes[name]) for name in names), strict=True)
    first_change_of_row: dict[tuple[Any, ...], int] = {}
    sums_by_row: dict[tuple[Any, ...], Counter[Any]] = {}
    columns = zip(row_ids, changes["change"].to_pylist(), ends, new_ends, strict=True)
    for number, (row_id, change, end, new_end) in enumerate(columns):
        if change not in _KINDS:
            continue  # a row that changes nothing; `distributed_rows`, where Spark adds changes up, leaves it out too
        first_change_of_row.setdefault(row_id, number)
        sums = sums_by_row.setdefault(row_id, Counter())
        sums[end] += 1 if change == "insert" else -1  # -1 for a revision too, of which `end` is the old end
        if change == "revise":
            sums[new_end] += 1

    # A row that was added and taken away has no net change: all its sums are 0.
    row_numbers: list[int] = []
    kinds: list[str] = []
    last_ends: list[Any] = []
    for row_id, sums in sums_by_row.items():
        nonzero_sums = {end: total for end, total in sums.items() if total != 0}
        if not nonzero_sums:
            continue
        # An end whose sum is 1 comes first, if there is one.
        end = max(nonzero_sums, key=nonzero_sums.__getitem__)
        row_numbers.append(first_change_of_row[row_id])
        kinds.append("upsert" if nonzero_sums[end] > 0 else "delete")
        last_ends.append(end)

    # All changes of a row have the same values, except for `change` and the end. So the first one is taken, and these
    # two columns are replaced.
    net_changes = changes.take(pa.array(row_numbers, pa.int64())).combine_chunks()
    change_column = net_changes.column_names.index("change")
    net_changes = net_changes.set_column(change_column, "change", pa.array(kinds, pa.string()))
    if not has_ends:
        return net_changes
    return _with_ends(net_changes, last_ends).drop_columns(["new_end"])


def _with_ends(rows: pa.Table, ends: list[Any]) -> pa.Table:
    """Return rows with other ends in their column `lifetime`.

    Args:
        rows: The rows.
        ends: The new end of each row.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    lifetime_type = rows.schema.field("lifetime").type
    starts = pc.struct_field(rows["lifetime"], "start").combine_chunks()
    new_ends = pa.array(ends, lifetime_type.field("end").type)
    lifetimes = pa.StructArray.from_arrays([starts, new_ends], fields=list(lifetime_type))
    return rows.set_column(rows.column_names.index("lifetime"), "lifetime", lifetimes)


def hashable_values(column: pa.ChunkedArray) -> list[Any]:
    """Return values for keys of a dict, which are equal exactly if Spark puts their rows in one group.

    To Spark NaN is equal to NaN, and 0.0 to -0.0.
    """
    import pyarrow as pa

    values: list[Any] = column.to_pylist()
    if pa.types.is_floating(column.type) or pa.types.is_nested(column.type):
        # Lists and records have no hash; and the text of NaN is equal to itself, as NaN is not.
        return [json_of(_with_one_zero(value)) for value in values]
    return values


def _with_one_zero(value: Any) -> Any:
    """Return a value in which each float -0.0 is 0.0, also within lists and records."""
    if isinstance(value, float):
        return value + 0.0  # turns -0.0 into 0.0, and leaves all other floats as they are
    if isinstance(value, dict):
        return {name: _with_one_zero(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_with_one_zero(part) for part in value]
    return value
