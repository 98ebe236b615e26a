"""Tables of Iceberg."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from warnings import catch_warnings, simplefilter

from muntin.errors import QueryError
from muntin_engine.needed import required_module
from muntin_engine.sinks.addresses import local_path
from muntin_engine.sinks.net_changes_on_driver import hashable_values
from muntin_engine.sinks.table_sink import CHANGE, Mark, TableSink, rows_gone_error

if TYPE_CHECKING:
    import pyarrow as pa

_PREFIX: Final = "muntin."
_MERGE: Final = "muntin-merge"
"""The property of a snapshot that deletes rows to merge changes: the id of the query. A later one has the new rows."""

_CATALOG: Final = "catalog.db"


class IcebergTable(TableSink):
    """Writes results to a table of Iceberg, through the package `pyiceberg`, without Spark's connector.

    Each micro-batch is one commit, even if it has no rows. Its number is a property of the snapshot and of the table,
    `muntin.` and the id of the query, committed with the rows: a JSON list of the number, the id of its input, and the
    watermark. By the property of the table it is skipped if it comes again, even once its snapshot has expired;
    several queries may write to one table. Rows of results are appended. A changelog is merged: the table has one row
    per key and `event_id`, null being a key like any other. New columns are added to the table, and are null in the
    rows that were there.

    A table that was rolled back has the micro-batches of the snapshots that it is made of. One that was emptied is
    refused. An overwrite in one snapshot, as by `INSERT OVERWRITE`, cannot be distinguished from an update of all
    files.

    This class serves sessions that lack the connector's jar. With the jar, the connector leaves out a repeated
    micro-batch only as the sink of `writeStream`: a function that writes in `foreachBatch` has to look for the number
    in the snapshots itself.

    Cost: rows pass through the driver; up to 100,000 of them at once, beyond that one partition at a time. For a merge
    all changes of a micro-batch are in the driver's memory, and the files are rewritten that have a row which changes.
    Iceberg compares no records and arrays: if a key is one, rows of all its values that have the `event_id` of a change
    pass through the driver, too, and are written again.

    Example:
        >>> str(IcebergTable("bikes.hours", Path("/data/lake")))
        "IcebergTable('bikes.hours', '/data/lake')"
    """

    def __init__(self, table: str, catalog: str | PathLike[str] | Mapping[str, str] = "default") -> None:
        """Take a table.

        Args:
            table: The name of the table in the catalogue, with its namespace: `bikes.hours`. It is made if need be.
            catalog: The name of a catalogue that `pyiceberg` is configured for; or the properties of one; or a path,
                for a folder that has a SQLite catalogue, `catalog.db`, and its tables. A query names a sink by the text
                `"iceberg:bikes.hours"`, in the catalogue `default`, or `"iceberg:FOLDER/bikes.hours"`.

        Raises:
            QueryError: The table has no namespace.
            SetupError: `pyiceberg` is not installed.
        """
        required_module("pyiceberg", feature="IcebergTable", extra="iceberg")
        parts = table.split(".")
        if len(parts) == 1 or not all(parts):
            raise QueryError(
                f"{table!r} is no table of Iceberg\n  expected a namespace and a name, as in 'bikes.hours'"
            )
        self._name = table
        self._catalog = catalog if isinstance(catalog, str | Mapping) else local_path(fspath(catalog))

    def __str__(self) -> str:
        # The properties of a catalogue may have secrets.
        catalog = "a catalogue of its own" if isinstance(self._catalog, Mapping) else str(self._catalog)
        return f"IcebergTable({self._name!r}, {catalog!r})"

    @property
    def destination(self) -> str:
        """The catalogue and the table, without the user and the password of the catalogue."""
        catalog = self._catalog.get("uri", "") if isinstance(self._catalog, Mapping) else str(self._catalog)
        catalog_without_user = catalog.rpartition("@")[2]
        return f"iceberg:{catalog_without_user}/{self._name}"

    def find_mark(self, query_id: str) -> Mark:
        """Return the mark of the query's newest snapshot among the ancestors of the current one.

        If that snapshot has expired, the mark is read from the property of the table. The property alone is not enough:
        a table that is rolled back to an earlier snapshot keeps it.

        Raises:
            StateError: The table was emptied after that snapshot.
        """
        table = self._table
        name = _PREFIX + query_id
        if table is None or name not in table.properties:
            return Mark()
        last_mark = Mark(*json.loads(table.properties[name]))

        # From the current snapshot back through its ancestors, up to the first one of the query.
        snapshots = {snapshot.snapshot_id: snapshot for snapshot in table.metadata.snapshots}
        snapshot = snapshots.get(table.metadata.current_snapshot_id)
        while snapshot is not None:
            summary = snapshot.summary.additional_properties
            if name in summary:
                return Mark(*json.loads(summary[name]))
            has_no_rows = summary.get("total-records") == "0" and "deleted-records" in summary
            if has_no_rows and _MERGE not in summary:
                raise rows_gone_error(
                    f"snapshot {snapshot.snapshot_id} of {self}, by {snapshot.summary.operation.value}, took away what"
                    f" the query wrote up to micro-batch {last_mark.batch}"
                )
            snapshot = snapshots.get(snapshot.parent_snapshot_id)

        # No ancestor is a snapshot of the query. If the table has such a snapshot elsewhere, it was rolled back to one
        # before it. If the table has none at all, the snapshots of the query have expired.
        is_rolled_back = any(name in snapshot.summary.additional_properties for snapshot in snapshots.values())
        return Mark() if is_rolled_back else last_mark

    def append(self, rows: pa.RecordBatchReader, query_id: str, mark: Mark) -> None:
        """Append rows in one commit."""
        self._commit(rows, query_id, mark, deleted_ids=None)

    def merge(self, rows: pa.RecordBatchReader, names: Sequence[str], query_id: str, mark: Mark) -> None:
        """Delete the rows that change and append their new versions, in one commit; see `TableSink.merge`."""
        import pyarrow as pa

        changes = rows.read_all()
        is_upsert = pa.array([kind == "upsert" for kind in changes[CHANGE].to_pylist()], pa.bool_())
        new_rows = changes.filter(is_upsert).drop_columns([CHANGE])
        self._commit(new_rows, query_id, mark, deleted_ids=changes.select(list(names)))

    def _commit(
        self, rows: pa.Table | pa.RecordBatchReader, query_id: str, mark: Mark, *, deleted_ids: pa.Table | None
    ) -> None:
        """Delete rows, append others and set the mark, in one transaction; make the table if there is none.

        Args:
            rows: The rows to append.
            query_id: The id of the query.
            mark: The progress of the query with these rows.
            deleted_ids: The ids of the rows to delete, which need not be there: the key columns, and `event_id` as the
                last one. None to delete no rows.
        """
        import pyarrow as pa

        schema = rows.schema
        table = self._table
        if table is None:
            catalog = self._loaded_catalog
            catalog.create_namespace_if_not_exists(self._name.rpartition(".")[0])
            table = catalog.create_table_if_not_exists(self._name, schema)  # another driver may make it as well
        if isinstance(rows, pa.RecordBatchReader) and not table.spec().is_unpartitioned():
            rows = rows.read_all()  # pyiceberg writes no stream of rows to a partitioned table
        mark_property = {_PREFIX + query_id: json.dumps(mark)}
        with table.transaction() as transaction:
            with transaction.update_schema() as columns:
                columns.union_by_name(schema)
            if deleted_ids is not None:
                _delete(transaction, table, deleted_ids, query_id)
            # The delete makes a snapshot of its own. The mark is in the last snapshot, which has the appended rows.
            transaction.append(rows, snapshot_properties=mark_property)
            transaction.set_properties(mark_property)

    @property
    def _table(self) -> Any:
        """The table as it is now; None if there is none."""
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            return self._loaded_catalog.load_table(self._name)
        except (NoSuchNamespaceError, NoSuchTableError):
            return None

    @property
    def _loaded_catalog(self) -> Any:
        """The catalogue, as pyiceberg loads it."""
        if isinstance(self._catalog, str):
            return _load(self._catalog)
        if isinstance(self._catalog, Mapping):
            return _load("muntin", *self._catalog.items())  # pairs, as the arguments of a cached function are hashed
        self._catalog.mkdir(parents=True, exist_ok=True)
        uri = f"sqlite:///{self._catalog / _CATALOG}"
        return _load("muntin", ("type", "sql"), ("uri", uri), ("warehouse", self._catalog.as_uri()))


@cache
def _load(name: str, *properties: tuple[str, str]) -> Any:
    """Return a catalogue of pyiceberg's; a process loads it once, as that takes longer than a small micro-batch."""
    from pyiceberg.catalog import load_catalog

    return load_catalog(name, **dict(properties))


def from_address(address: str) -> IcebergTable:
    """Return the sink of `iceberg:bikes.hours`, in the catalogue `default`, or of `iceberg:FOLDER/bikes.hours`."""
    folder, _, table = address.partition(":")[2].rpartition("/")
    return IcebergTable(table, Path(folder or "/") if "/" in address else "default")


def _delete(transaction: Any, table: Any, ids: pa.Table, query_id: str) -> None:
    """Delete the rows with these ids, to merge changes.

    Args:
        transaction: The transaction of the table.
        table: The table as it was before the transaction.
        ids: A row for each id: the key columns, and `event_id` as the last one.
        query_id: The id of the query.
    """
    import pyarrow as pa

    # A table that lacks one of the columns was made by somebody else, and has no rows of the query yet.
    columns_of_table = {field.name for field in table.schema().fields}
    if not columns_of_table.issuperset(ids.column_names):
        return

    # Iceberg compares no records and arrays, and pyiceberg reads a dot in a name as the path to a field. So rows are
    # deleted by the other columns alone, and those of other keys are put back.
    compared_columns = [
        field.name for field in ids.schema if not pa.types.is_nested(field.type) and "." not in field.name
    ]
    condition = _rows_with_ids(ids.select(compared_columns))
    if condition is None:
        return
    rows_to_keep: Any = None
    if len(compared_columns) < len(ids.column_names):
        candidates = table.scan(row_filter=condition).to_arrow()
        rows_to_keep = _rows_without_ids(candidates, ids)
        if len(rows_to_keep) == len(candidates):
            return
    with catch_warnings():
        simplefilter("ignore", UserWarning)  # pyiceberg warns if no row is deleted, which is no fault here
        transaction.delete(condition, snapshot_properties={_MERGE: query_id})
    if rows_to_keep is not None and len(rows_to_keep):
        transaction.append(rows_to_keep)


def _rows_without_ids(rows: pa.Table, ids: pa.Table) -> pa.Table:
    """Return the rows of a table that have none of these ids.

    Args:
        rows: The rows.
        ids: A row for each id; `rows` has its columns, and perhaps others.
    """
    import pyarrow as pa

    ids_of_rows = rows.select(ids.column_names).cast(ids.schema)
    deleted_ids = set(_hashable_rows(ids))
    is_kept = [id not in deleted_ids for id in _hashable_rows(ids_of_rows)]
    return rows.filter(pa.array(is_kept, pa.bool_()))


def _hashable_rows(ids: pa.Table) -> list[tuple[Any, ...]]:
    """Return the rows of a table of ids, which are equal exactly if Spark puts them in one group."""
    return list(zip(*(hashable_values(column) for column in ids.columns), strict=True))


def _rows_with_ids(ids: pa.Table) -> Any:
    """Return the expression of pyiceberg that is true of the rows with these ids; None if there are no ids.

    A null in a key is equal to another null, and NaN to NaN.

    Args:
        ids: A row for each id: key columns that Iceberg compares, and `event_id` as the last one.
    """
    from pyiceberg import expressions

    # The annotations of pyiceberg are those of expressions that are bound to a table already.
    untyped: Any = expressions

    def is_value(column: str, value: Any) -> Any:
        """Return the expression that is true of rows with a value in a column."""
        if value is None:
            return untyped.IsNull(column)
        if value != value:  # noqa: PLR0124  # NaN
            return untyped.IsNaN(column)
        return untyped.EqualTo(column, value)

    # One condition for all rows of a key keeps the expression short.
    *key_columns, id_column = ids.column_names
    event_ids_by_key: dict[tuple[Any, ...], list[Any]] = {}
    values_by_column = [ids[column].to_pylist() for column in ids.column_names]
    for *key_values, event_id in zip(*values_by_column, strict=True):
        event_ids_by_key.setdefault(tuple(key_values), []).append(event_id)

    # `And` and `Or` take two operands or more.
    conditions_by_key: list[Any] = []
    for key, event_ids in event_ids_by_key.items():
        conditions = [is_value(column, value) for column, value in zip(key_columns, key, strict=True)]
        conditions.append(untyped.In(id_column, event_ids))
        conditions_by_key.append(untyped.And(*conditions) if len(conditions) > 1 else conditions[0])
    if not conditions_by_key:
        return None
    return untyped.Or(*conditions_by_key) if len(conditions_by_key) > 1 else conditions_by_key[0]
