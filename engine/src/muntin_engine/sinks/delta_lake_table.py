"""Tables of Delta Lake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Final

from muntin_engine.needed import required_module
from muntin_engine.sinks.addresses import is_elsewhere, local_path, without_secrets
from muntin_engine.sinks.table_sink import CHANGE, Mark, TableSink, rows_gone_error

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH: Final = "muntin.batch"
_QUERY: Final = "muntin.query"
_INPUT: Final = "muntin.input_id"
_WATERMARK: Final = "muntin.watermark"

_NO_PREDICATE: Final = (None, "", "[]", '["true"]', "true")
"""The predicates of operations on all rows, as Spark and the versions of delta-rs write them."""

_COMMITS: Final = 100
"""The number of last commits among which the one of a micro-batch is looked for."""


class DeltaLakeTable(TableSink):
    """Writes results to a table of Delta Lake, through the package `deltalake`, without Spark's connector.

    Each micro-batch is one commit, even if it has no rows. Its number is an application transaction of the commit,
    under the id of the query, by which it is skipped if it comes again; so several queries may write to one table. Rows
    of results are appended. A changelog is merged: the table has one row per key and `event_id`, null being a key like
    any other. New columns are added to the table, and are null in the rows that were there.

    The commit has the metadata `muntin.query`, `muntin.batch`, `muntin.input_id` and `muntin.watermark`, a tick. A
    table that was restored has the micro-batches of that version, though its transactions survive a `RESTORE`. A table
    that was emptied or overwritten as a whole is refused; rows may be deleted by a condition, and files compacted.

    This class serves sessions that lack the connector's jar. With the jar, a function that writes with the options
    `txnAppId` and `txnVersion` leaves out a repeated micro-batch by the same field of the commit, and writes from the
    workers; it does not notice a table that was restored or emptied.

    Cost: rows pass through the driver; up to 100,000 of them at once, beyond that one partition at a time. A merge
    rewrites the files that have a row which changes.

    Example:
        >>> str(DeltaLakeTable("lake/hours"))
        "DeltaLakeTable('lake/hours')"
    """

    def __init__(self, path: str | PathLike[str], storage_options: Mapping[str, str] | None = None) -> None:
        """Take a table.

        Args:
            path: The folder of the table, or an address that `deltalake` takes, such as `s3://bucket/hours`. The table
                is made if need be. A query names such a sink by the text `"delta:PATH"` too.
            storage_options: Settings of `deltalake` for an object store, such as keys.

        Raises:
            SetupError: `deltalake` is not installed.
        """
        required_module("deltalake", feature="DeltaLakeTable", extra="delta")
        self._path = fspath(path)
        self._options = dict(storage_options or {})

    def __str__(self) -> str:
        return f"DeltaLakeTable({without_secrets(self._path)!r})"

    @property
    def destination(self) -> str:
        """The path of the table, absolute, or its address."""
        if is_elsewhere(self._path):
            return f"delta:{without_secrets(self._path)}"
        return f"delta:{local_path(self._path)}"

    def find_mark(self, query_id: str) -> Mark:
        """Return the mark of the last commit of a query that no `RESTORE` of the table has undone.

        Raises:
            StateError: The table was emptied or overwritten after that commit.
        """
        # The transaction has the number of the last micro-batch, even if a restore has undone it, and no watermark.
        table = self._table
        last_batch = None if table is None else table.transaction_version(query_id)
        if last_batch is None or last_batch < 0:
            return Mark()

        # The query's last commit is nearly always the last one of the table. So one commit is read at first, and more
        # only if it is not found: then the last hundred, and then all that the log has.
        for most_commits in (1, _COMMITS, None):
            history = table.history(most_commits)
            # Commits are looked at from the newest one back. Those after this version were undone by a restore.
            restored_version = table.version()
            for commit in history:
                if commit["version"] > restored_version:
                    continue
                if commit.get(_QUERY) == query_id:
                    return _mark_of(commit)
                if commit.get("operation") == "RESTORE":
                    restored_version = _restored_version(commit, history)
                elif _takes_all_rows(commit):
                    raise rows_gone_error(
                        f"version {commit['version']} of {self}, by {commit['operation']}, took away what the query"
                        f" wrote up to micro-batch {last_batch}"
                    )
            # The whole log has no commit of the query that still holds. If there was a restore, it has undone them all.
            is_restored = restored_version < table.version()
            if is_restored and most_commits is None:
                return Mark()
        return Mark(last_batch)  # the log no longer has the commit; the transaction outlives it

    def append(self, rows: pa.RecordBatchReader, query_id: str, mark: Mark) -> None:
        """Append rows in one commit."""
        from deltalake import write_deltalake

        write_deltalake(
            self._path,
            rows,
            mode="append",
            schema_mode="merge",
            storage_options=self._options,
            commit_properties=_commit_properties(query_id, mark),
        )

    def merge(self, rows: pa.RecordBatchReader, names: Sequence[str], query_id: str, mark: Mark) -> None:
        """Merge changes in one commit, which has only the mark if nothing changes; see `TableSink.merge`."""
        no_rows = rows.schema.empty_table().drop_columns([CHANGE])
        table = self._table
        if table is None:
            self.append(no_rows.to_reader(), query_id, Mark())  # makes the table, with a mark that has no micro-batch
            table = self._table
            assert table is not None
        # A null in a key is equal to another null, which `=` would not find.
        conditions = [f"(t.{_quoted(name)} IS NOT DISTINCT FROM s.{_quoted(name)})" for name in names]
        # The expressions of the new values, by the columns of the table `t`: those of the source `s`, the changes.
        new_values = {f"t.{_quoted(name)}": f"s.{_quoted(name)}" for name in no_rows.column_names}
        previous_version = table.version()
        merger = table.merge(
            rows,
            predicate=" AND ".join(conditions),
            source_alias="s",
            target_alias="t",
            merge_schema=True,
            commit_properties=_commit_properties(query_id, mark),
        )
        merger = merger.when_matched_delete(f"s.{CHANGE} = 'delete'")
        merger = merger.when_matched_update(new_values)
        merger = merger.when_not_matched_insert(new_values, predicate=f"s.{CHANGE} = 'upsert'")
        merger.execute()
        # A merge that changes nothing makes no commit: the mark is then committed without rows.
        if table.version() == previous_version:
            self.append(no_rows.to_reader(), query_id, mark)

    @property
    def _table(self) -> Any:
        """The table as it is now; None if there is none."""
        from deltalake import DeltaTable

        if not DeltaTable.is_deltatable(self._path, self._options):
            return None
        return DeltaTable(self._path, storage_options=self._options)


def from_address(address: str) -> DeltaLakeTable:
    """Return the sink of an address such as `delta:lake/hours` or `delta:s3://bucket/hours`."""
    return DeltaLakeTable(address.partition(":")[2])


def _mark_of(commit: Mapping[str, Any]) -> Mark:
    """Return the mark that a commit of a query has."""
    watermark = commit.get(_WATERMARK)
    if watermark is not None:
        watermark = int(watermark)
    return Mark(int(commit[_BATCH]), commit.get(_INPUT, ""), watermark)


def _restored_version(restore: Mapping[str, Any], history: Sequence[Mapping[str, Any]]) -> int:
    """Return the version that a table was restored to; -1 if the log no longer says so.

    Args:
        restore: The commit of the restore, which names a version, or a time as milliseconds or text.
        history: The commits of the table, the newest one first.
    """
    parameters = restore["operationParameters"]
    if parameters.get("version") is not None:
        return int(parameters["version"])

    # Spark calls the time `timestamp`, and delta-rs `datetime`.
    time = str(parameters.get("datetime") or parameters.get("timestamp"))
    if time.isdecimal():
        milliseconds = int(time)
    else:
        moment = datetime.fromisoformat(time)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        milliseconds = round(moment.timestamp() * 1000)

    # The table was restored to the newest version that it had at that time.
    for commit in history:
        if commit["version"] < restore["version"] and commit.get("timestamp", 0) <= milliseconds:
            return int(commit["version"])
    return -1


def _takes_all_rows(commit: Mapping[str, Any]) -> bool:
    """True for a commit that deletes, overwrites or replaces all rows of a table, and not only some of them."""
    parameters = commit.get("operationParameters", {})
    if parameters.get("predicate") not in _NO_PREDICATE:
        return False
    for name, value in parameters.items():
        if "dynamic" in name.lower() and str(value).lower() == "true":
            return False  # a dynamic overwrite replaces only partitions that have new rows
    operation = commit.get("operation", "")
    is_overwrite = operation == "WRITE" and parameters.get("mode") == "Overwrite"
    return is_overwrite or operation in ("DELETE", "TRUNCATE") or "REPLACE TABLE" in operation


def _commit_properties(query_id: str, mark: Mark) -> Any:
    """Return the properties by which a commit stores a mark.

    The mark is metadata of the commit. Its micro-batch is also the number of an application transaction. The table
    still has that number when the commit has been removed from the log.
    """
    from deltalake import CommitProperties, Transaction

    metadata = {_QUERY: query_id, _BATCH: str(mark.batch), _INPUT: mark.input_id}
    if mark.watermark is not None:
        metadata[_WATERMARK] = str(mark.watermark)
    return CommitProperties(custom_metadata=metadata, app_transactions=[Transaction(query_id, mark.batch)])


def _quoted(name: str) -> str:
    """Return the name of a column as it is written in an expression."""
    return '"' + name.replace('"', '""') + '"'
