"""The checkpoint of queries: the record of the queries that it belongs to, and the checks before one continues from it.

The record is read before a query starts, and kept beside Spark's own files. It is read and written by DataFrames, so it
works wherever Spark itself keeps the checkpoint, and on Spark Connect as well.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from os import PathLike, fspath
from typing import Any, Final, TypeVar
from uuid import UUID

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from muntin_engine.backends.spark.checkpoints.checkpoint_files import damage_of, has_wrong_checksum
from muntin_engine.backends.spark.checkpoints.checkpoint_folder import CheckpointFolder, numbers_in
from muntin_engine.backends.spark.checkpoints.sink_checks import (
    END_OF_STREAM,
    check_not_ahead,
    check_not_behind,
    input_id_of,
)
from muntin_engine.backends.spark.checkpoints.stored_state import LastCommit, StoredState, buckets_of
from muntin_engine.backends.spark.failures.root_cause import RESTORE, root_cause
from muntin_engine.backends.spark.private_parts import has_java_context
from muntin_engine.backends.spark.session.classic import Py4JError
from muntin_engine.backends.spark.session.ended import is_cut_off
from muntin_engine.backends.spark.session.kinds import is_connect
from muntin_engine.errors import Difference, SessionEndedError, StateError, StateMismatchError
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.plan import Plan
from muntin_engine.plan.code_in_use import with_stored_hashes
from muntin_engine.plan.continuing import check_plans
from muntin_engine.plan.identity import plan_identity
from muntin_engine.sinks.addresses import local_path
from muntin_engine.sinks.checkpoint_copy import (
    COMMAND,
    COPYING,
    RECORDS,
    cut_short_copy_error,
    moved_checkpoint_error,
    schema_files_in,
)
from muntin_engine.sinks.owned_folder import TO_GO_ON
from muntin_engine.sinks.sink import Sink
from muntin_engine.time.changes import Progress

FOLDER: Final = RECORDS
"""The folder in a checkpoint. The record `muntin/7` holds from micro-batch 7 on, once that is committed."""

_CLOSING: Final = "closing"
"""The mark that the closing of the stream has begun."""

_CLOSED: Final = "closed"
"""The mark that the stream is closed."""

_PARTITIONS: Final = re.compile(r'"spark\.sql\.shuffle\.partitions":"(\d+)"')

_METADATA_ADVICE: Final = (
    "  expected: the id that Spark gave the query, as JSON\n"
    "  put back a copy of the checkpoint, or start with a new one to compute all results again"
)

_LOG: Final = logging.getLogger("muntin.checkpoint")

_NO_LETTER: Final = "\N{REPLACEMENT CHARACTER}"
"""The character that Spark reads in the place of bytes that are not UTF-8; a record is written in ASCII."""

_Query = TypeVar("_Query")


@dataclass(frozen=True)
class CheckpointFile:
    """A file of Muntin's that is to be written to a checkpoint.

    Attributes:
        checkpoint: The path of the checkpoint.
        text: The content of the file.
        name: The name of the file; None for the record of the queries, whose name is the number of the micro-batch from
            which on it holds.
    """

    checkpoint: str
    text: str
    name: str | None = None

    def write(self, spark: SparkSession, batch_id: int) -> None:
        """Write the file; called once a micro-batch is computed, and before any sink gets its rows.

        If the micro-batch is never committed, the record that was written with it does not count: readers take the
        record of a committed one.

        Args:
            spark: The session that writes the file.
            batch_id: The number of the micro-batch.
        """
        name = batch_id if self.name is None else self.name
        row = spark.range(1).coalesce(1).select(F.lit(self.text).alias("value"))
        row.write.mode("overwrite").text(f"{self.checkpoint}/{FOLDER}/{name}")


@dataclass(frozen=True)
class _QueryRecord:
    """The record of the queries of a checkpoint. The names of the attributes are those in the file.

    Attributes:
        queries: The identities of the queries.
        destinations: The folders, tables and topics that the queries have written to.
        names: The names of the queries, if they are of one pass.
        text: The text of the queries, as data; or, in words, the reason why they have none.
    """

    queries: list[Mapping[str, Any]]
    destinations: list[str]
    names: list[str]
    text: Mapping[str, Any] | str

    @classmethod
    def from_json(cls, text: str) -> _QueryRecord:
        """Read a record that `to_json` wrote.

        Raises:
            ValueError, KeyError, TypeError, RecursionError: The text is no record.
        """
        if _NO_LETTER in text:  # what Spark reads in the place of bytes that are not UTF-8
            raise ValueError("it is not text in UTF-8")
        content = json.loads(text)
        return cls(
            queries=list(content["queries"]),
            destinations=list(content["destinations"]),
            names=list(content["names"]),
            text=content["text"],
        )

    def to_json(self) -> str:
        """Return the record as JSON."""
        return json.dumps(asdict(self))


class Checkpoint:
    """The checkpoint of a Spark query in which Muntin's queries have their state, as its last micro-batch left it."""

    def __init__(self, spark: SparkSession, path: str | PathLike[str]) -> None:
        """Choose a checkpoint; its files are read when they are needed.

        Raises:
            SessionEndedError: The session was stopped.
        """
        if not is_connect(spark) and not has_java_context(spark):
            raise SessionEndedError("it was stopped")  # Spark's own error would be one of the connection to the JVM
        self._spark = spark
        self._path = fspath(path).rstrip("/")
        self._folder = CheckpointFolder(spark, self._path)

    def check(self, plans: Sequence[Plan], names: Sequence[str] = (), *, reads_state: bool = True) -> list[str]:
        """Raise unless queries can continue from the checkpoint; describe how they differ from those that began it.

        Any query can begin a checkpoint that has no micro-batch yet.

        Args:
            plans: The plans of the inner queries (whose results the queries read), then those of the queries
                themselves: of a single one, or of all queries of one pass.
            names: The names of the queries of one pass, in order; none for a query that is written alone.
            reads_state: True to check the files and the state too. A query that starts right after the check need not:
                if Spark cannot read the state, its first micro-batch fails.

        Returns:
            A sentence for each difference with which the queries can continue.

        Raises:
            StateMismatchError: The queries cannot continue from the checkpoint.
            StateError: The record is damaged, the checkpoint was moved, it is a copy that was cut short, or a file of
                Spark's logs is gone; with `reads_state` also: files are damaged, or a part of the state is missing or
                of another micro-batch.
        """
        # Files come first: the checks of the queries and of the state would misread the consequences of a damaged file.
        self.check_path()
        self._check_logs()
        if reads_state:
            self.check_files()
            self.check_metadata()
        if self._record is not None:
            self._check_names(names)

        # Called only if a difference is found, as it needs a job of Spark's.
        def progress_by_query() -> list[Progress]:
            with suppress(StateError):  # progress only makes the description more exact
                return self.state.progress(buckets_of(plans, names))
            return []

        # The buckets of a query may have several identities, which differ from the plans in the same way. A dict keeps
        # each change once, in order.
        changes: dict[str, None] = {}
        for identities in self._stored_identities(plans, names, must_be_readable=reads_state):
            changes_of_row = check_plans(
                plans,
                stored=identities,
                checkpoint=self._path,
                declarations=DECLARATIONS,
                names=names,
                stored_progress=progress_by_query,
            )
            changes |= dict.fromkeys(changes_of_row)

        if reads_state and self._last_commit >= 0:
            commit = LastCommit(
                query_id=self.query_id,
                batch=self._last_commit,
                repartitioned_batch=self.repartitioned_batch,
                has_begun=self.has_begun,
            )
            self.state.check_partitions(buckets_of(plans, names), commit)
        return list(changes)

    def _stored_identities(
        self, plans: Sequence[Plan], names: Sequence[str], *, must_be_readable: bool
    ) -> Sequence[Sequence[Mapping[str, Any]]]:
        """Return the identities of the stored queries, as rows with one identity of each query.

        There is one row if the checkpoint has a record. Without a record the identities are read from the state, where
        each bucket has the identity of its query. If the buckets of a query have different ones, as after an upgrade,
        there are several rows. There is no row if no micro-batch was committed, or if the state has operators of
        queries that are not among the plans.

        Args:
            plans: The plans of the inner queries, then those of the queries themselves, as in `check`.
            names: The names of the queries of one pass, in order; none for a query that is written alone.
            must_be_readable: True to raise if the state cannot be read; False to return no row then.

        Raises:
            StateError: The state cannot be read.

        Cost: without a record, the state of each query is read once.
        """
        if self._record is not None:
            return [self._record.queries]
        if self._last_commit < 0:
            return []
        try:
            return self.state.identities(buckets_of(plans, names))
        except StateError:
            if must_be_readable:
                raise
            return []

    def in_order(self, queries: Mapping[str, _Query]) -> Mapping[str, _Query]:
        """Return the queries of one pass in the order in which the checkpoint has them.

        The ids of a query's buckets depend on its position in the pass, so a program may not change the order.

        Args:
            queries: The queries by name; the name of a query that is written alone is empty.
        """
        is_alone = "" in queries
        if is_alone or set(self.names) != set(queries):
            return queries  # other names are refused by `check`
        return {name: queries[name] for name in self.names}

    def _check_names(self, names: Sequence[str]) -> None:
        """Raise unless the checkpoint is of queries with these names, in this order.

        Args:
            names: The names of the queries of one pass; none for a query that is written alone.

        Raises:
            StateMismatchError: The checkpoint is of queries with other names.
        """
        if list(names) != self.names:
            difference = Difference(
                "queries of the pass", checkpoint=_spelled_names(self.names), query=_spelled_names(names)
            )
            raise StateMismatchError([difference], checkpoint=self._path)

    def check_sinks(self, sinks: Mapping[str, Sink]) -> None:
        """Raise unless sinks have what the micro-batches of the checkpoint wrote, and nothing else.

        Args:
            sinks: The sinks that are to be written to, by their spelling in errors, such as `results=hours`.

        Raises:
            StateError: A sink lacks rows that the query wrote, or has rows that the checkpoint has not committed.
        """
        last_input = input_id_of(self._path, self._last_commit)
        next_input = self._input_that_comes_again()
        for name, sink in sinks.items():
            is_new = sink.destination not in self.destinations
            if not is_new:
                self._check_folder(name, sink)  # the folder of a sink that was never written to may be empty
            # Before the first commit, a sink with rows is one of another query: `open` refuses it with a better error.
            if self._last_commit >= 0:
                self._check_not_ahead(name, sink, next_input)
            if not self.was_repartitioned:
                check_not_behind(name, sink, self._last_commit, last_input, is_new=is_new)

    def _input_that_comes_again(self) -> str | None:
        """Return the id of the input of the next micro-batch, which sinks may have already; None if they may not.

        They may have it if it was begun and comes again.
        """
        if self._last_commit >= 0 and self._has_mark(_CLOSING):
            return END_OF_STREAM  # the closing was cut short
        if self.is_cut_short:
            return input_id_of(self._path, self._last_commit + 1)
        return None

    def _check_folder(self, name: str, sink: Sink) -> None:
        """Raise if the folder of a sink is gone or empty, although the query has written to it.

        Args:
            name: The spelling of the sink in errors.
            sink: The sink; nothing is checked of one without a folder.

        Raises:
            StateError: The folder is gone or empty.
        """
        folder = sink.folder
        if folder is None:
            return
        if folder.is_dir() and any(folder.iterdir()):
            return
        raise StateError(
            f"{name}: {folder} is gone or empty, and the checkpoint {self._path} has written its micro-batches "
            f"up to {self._last_commit} there\n  {TO_GO_ON}"
        )

    def _check_not_ahead(self, name: str, sink: Sink, next_input: str | None) -> None:
        """Raise if a sink is ahead of the checkpoint; if another program has committed meanwhile, the error says that.

        Args:
            name: The spelling of the sink in errors.
            sink: The sink.
            next_input: The id of the input of the next micro-batch; None if it was never planned.

        Raises:
            StateError: The sink is ahead.
        """
        try:
            check_not_ahead(name, sink, self._last_commit + 1, next_input)
        except StateError:
            # The commits are listed anew: `_last_commit` was read before this sink was looked at.
            newest_commit = max(self._numbers("commits"), default=-1)
            if newest_commit <= self._last_commit:
                raise
            raise StateError(
                f"another program runs a query with the checkpoint {self._path}: it committed micro-batch "
                f"{newest_commit}, and the last one was {self._last_commit} when this start began\n"
                "  expected: one query at a time for each checkpoint\n"
                "  stop one of the two, and start this one again; nothing is lost"
            ) from None

    def check_not_closed(self) -> None:
        """Raise if the stream of the checkpoint was closed.

        Raises:
            StateError: The stream was closed.
        """
        if self._has_mark(_CLOSED):
            raise StateError(
                f"the checkpoint {self._path} is closed: its last windows were emitted, so every further row would "
                "be late\n"
                "  expected: the checkpoint of a stream that goes on; on_end='close' and close_checkpoint() end one\n"
                "  to compute everything again, delete it and the folders that it wrote to, or name other ones"
            )

    def check_open(self) -> None:
        """Raise if the stream of the checkpoint was closed, or closing it has begun.

        Raises:
            StateError: The stream was closed, or closing it was cut short.
        """
        self.check_not_closed()
        if self._has_mark(_CLOSING):
            raise StateError(
                f"the checkpoint {self._path} was being closed when that was cut short: some sinks may have its last "
                "windows\n"
                "  expected: that it is closed before anything else\n"
                "  call query.close_checkpoint(...) with this checkpoint and the same sinks"
            )

    def check_path(self) -> None:
        """Raise if the checkpoint was moved, or copied in part, so that Spark cannot start a query with it.

        The metadata of stateful operators name the files with the schemas of their states by absolute paths.

        Raises:
            StateError: A file with a schema does not exist at the path in the metadata, or a copy was cut short.
        """
        self._check_whole()
        for name, metadata in self._folder.operator_metadata():
            for file in schema_files_in(metadata, f"{self._path}/{name}"):
                if self._folder.lies_at(file.root):
                    continue
                if not self._folder.exists(file.path):
                    # A path that exists nowhere may be due to damaged metadata as well.
                    raise self._damage_of(name) or moved_checkpoint_error(self._path, name, file)
                # The metadata of a plain copy name files of the original, which Spark reads as long as they exist.
                _LOG.warning(
                    "the checkpoint %s is a copy of %s, and works only as long as that is there: %s names %s\n"
                    "  a copy that stands alone is made by %s FROM TO",
                    self._path,
                    file.root,
                    name,
                    file.path,
                    COMMAND,
                )

    def _check_whole(self) -> None:
        """Raise if the checkpoint is a copy that was cut short.

        Raises:
            StateError: It is one.
        """
        if self._has_mark(COPYING):
            raise cut_short_copy_error(self._path)

    def _damage_of(self, name: str) -> StateError | None:
        """Return the error that names the damaged files of the checkpoint, if a file has other bytes than Spark wrote.

        None if the file is as Spark wrote it, or if this process does not see it.

        Args:
            name: The path of the file in the checkpoint.
        """
        if not self._folder.is_visible or not has_wrong_checksum(local_path(self._path) / name):
            return None
        return damage_of(self._spark, self._path)

    def check_metadata(self) -> None:
        """Raise if Spark's file `metadata` has no id of a query, or is gone although a micro-batch was committed.

        Raises:
            StateError: The file is damaged or gone.
        """
        if not self._folder.files("metadata"):
            if self._last_commit < 0:
                return  # Spark has not begun yet
            raise StateError(f"the file {self._path}/metadata is gone\n{_METADATA_ADVICE}")
        try:
            UUID(self.query_id)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, PySparkException, Py4JError) as error:
            if is_cut_off(error):
                raise  # the JVM does not answer, which says nothing of the file
            raise StateError(
                f"the file {self._path}/metadata is damaged: {root_cause(error)}\n{_METADATA_ADVICE}"
            ) from error

    def check_files(self) -> None:
        """Raise if files that Spark wrote are damaged or gone. Only files that this process sees are checked.

        Raises:
            StateError: Files are damaged or gone; the message names them.
        """
        damage = damage_of(self._spark, self._path)
        if damage is not None:
            raise damage

    def _check_logs(self) -> None:
        """Raise if a file of Spark's logs is gone, and Spark would start without it and go wrong later.

        Raises:
            StateError: A file is gone, so that Spark would read its input twice, or could not commit.
        """
        # Spark goes on reading where the newest file in `offsets` ends. If the file of the last commit is gone, the
        # newest file is that of an earlier micro-batch, and Spark would read the rows after it a second time.
        last_commit = self._last_commit
        if last_commit >= 0 and last_commit not in self._numbers("offsets"):
            raise StateError(
                f"the file {self._path}/offsets/{last_commit} is gone, and commits/{last_commit} says that micro-batch "
                f"{last_commit} is done\n"
                f"  expected: the file, in which Spark wrote what that read; it would be read again\n  {RESTORE}"
            )

        # Spark cannot write a file if there is a checksum for it already. So it could not commit the next micro-batch
        # if the checksum of that commit is there alone. A query that runs meanwhile never leaves the checksum alone, as
        # Spark writes the file before its checksum.
        next_commit = last_commit + 1
        file = f"{self._path}/commits/{next_commit}"
        checksum = f"{self._path}/commits/.{next_commit}.crc"
        if self._folder.is_visible and local_path(checksum).exists() and not local_path(file).exists():
            raise StateError(
                f"the file {file} is gone, and its checksum {checksum} is there, so Spark cannot write it again\n"
                "  expected: both, or none\n"
                f"  put the file back, or remove the checksum: micro-batch {next_commit} then comes again, to the "
                "sinks that\n  have it too"
            )

    @property
    def is_closed(self) -> bool:
        """True if the stream was closed."""
        return self._has_mark(_CLOSED)

    @property
    def is_cut_short(self) -> bool:
        """True if a micro-batch was begun and not committed."""
        return max(self._numbers("offsets"), default=-1) > self._last_commit

    @property
    def last_commit(self) -> int:
        """The number of the last micro-batch that was committed; -1 if there is none."""
        return self._last_commit

    @property
    def query_id(self) -> str:
        """Spark's id of the query, which Spark writes before the first micro-batch begins."""
        query_id: str = json.loads(self._folder.text_by_spark("metadata"))["id"]
        return query_id

    @property
    def closing_begins(self) -> CheckpointFile:
        """The mark that the last windows are being written."""
        return CheckpointFile(self._path, text="{}", name=_CLOSING)

    @property
    def closing_ends(self) -> CheckpointFile:
        """The mark that the last windows have been written."""
        return CheckpointFile(self._path, text="{}", name=_CLOSED)

    @cached_property
    def state(self) -> StoredState:
        """The state in the checkpoint, as the last committed micro-batch left it."""
        return StoredState(self._spark, self._path, batch=self._last_commit if self._last_commit >= 0 else None)

    @property
    def has_begun(self) -> bool:
        """True if the buckets are known to have state: their first micro-batch with rows has written the record."""
        return self._record is not None

    @property
    def was_repartitioned(self) -> bool:
        """True if Spark only gave the state other partitions in the last micro-batch, and wrote to no sink."""
        return self.repartitioned_batch is not None

    @cached_property
    def repartitioned_batch(self) -> int | None:
        """The last micro-batch, if in it Spark gave the state another number of partitions instead of running a query.

        None if the last micro-batch ran a query. Spark writes with each micro-batch how many partitions the state has.
        """
        last_commit = self._last_commit
        if last_commit <= 0:
            return None  # there is no micro-batch before it to compare with
        partition_counts: list[str] = []
        for number in (last_commit - 1, last_commit):
            setting = _PARTITIONS.search(self._folder.text(f"offsets/{number}"))
            if setting is None:
                return None  # Spark has not written the setting
            partition_counts.append(setting[1])
        previous_count, last_count = partition_counts
        return last_commit if last_count != previous_count else None

    def record_of_queries(
        self,
        plans: Sequence[Plan],
        names: Sequence[str] = (),
        destinations: Iterable[str] = (),
        text: Mapping[str, Any] | str = "",
    ) -> CheckpointFile | None:
        """Return the file with the record of queries that are about to start; None if the checkpoint has that record.

        It is written with the first micro-batch that the queries run, and not before: until then the checkpoint
        may be in use by another query, and Spark then refuses to start these.

        Args:
            plans: The plans of the inner queries, then those of the queries themselves, as in `check`.
            names: The names of the queries of one pass, in order; none for a query that is written alone.
            destinations: The folders, tables and topics that the queries write to. Those that earlier runs have written
                to stay in the record.
            text: The text of the queries, as data; or, in words, the reason why they have none.
        """
        identities: list[Mapping[str, Any]] = [plan_identity(plan) for plan in plans]
        if self._record is not None:
            # Code that was changed without a new version keeps the hash of the first run of its version: so each start
            # warns of the change, and not only the first one after it.
            stored_identities = self._record.queries
            new_identities = identities
            identities = []
            for new_identity, stored_identity in zip(new_identities, stored_identities, strict=True):
                identities.append(with_stored_hashes(new_identity, stored_identity))
        all_destinations = sorted({*self.destinations, *destinations})
        record = _QueryRecord(queries=identities, destinations=all_destinations, names=list(names), text=text)

        # A record may have been written with a micro-batch that was not committed. It would count as soon as that
        # micro-batch comes again and is committed, so it has to be replaced.
        is_newest = all(number <= self._last_commit for number in self._record_numbers)
        if record == self._record and is_newest:
            return None
        return CheckpointFile(self._path, text=record.to_json())

    @property
    def destinations(self) -> list[str]:
        """The folders, tables and topics that the queries have written to, as far as the checkpoint has a record."""
        return [] if self._record is None else self._record.destinations

    @property
    def checked_destinations(self) -> list[str] | None:
        """The folders, tables and topics that must have the last micro-batch; None if it was written to no sink."""
        return None if self.was_repartitioned else self.destinations

    @property
    def names(self) -> list[str]:
        """The names of the queries, if they are of one pass."""
        return [] if self._record is None else self._record.names

    @property
    def text(self) -> Mapping[str, Any] | str:
        """The text of the queries, as data; or, in words, the reason why they have none; empty without a record."""
        return "" if self._record is None else self._record.text

    @cached_property
    def _record(self) -> _QueryRecord | None:
        """The newest record that was written with a committed micro-batch; None if there is none.

        Raises:
            StateError: The record is damaged, or a copy was cut short.
        """
        # The record of such a copy may be damaged too, and its advice would not help.
        self._check_whole()
        committed_numbers = [number for number in self._record_numbers if number <= self._last_commit]
        if not committed_numbers:
            return None
        file = f"{FOLDER}/{max(committed_numbers)}"
        try:
            return _QueryRecord.from_json(self._folder.text_by_spark(file))
        except (ValueError, KeyError, TypeError, RecursionError, PySparkException, Py4JError) as error:
            if is_cut_off(error):
                raise  # the JVM does not answer, which says nothing of the record
            raise StateError(
                f"the record {self._path}/{file} is damaged: {root_cause(error)}\n"
                "  expected: the identity of the checkpoint's query, as JSON\n"
                f"  delete the folder {self._path}/{file}, and no other: an older record then holds, or what the state "
                "says"
            ) from error

    @cached_property
    def _last_commit(self) -> int:
        return max(self._numbers("commits"), default=-1)

    @cached_property
    def _record_files(self) -> list[str]:
        """The addresses of the files of records and marks. Spark writes each as a folder with a file in it."""
        return self._folder.files(FOLDER)

    @property
    def _record_numbers(self) -> list[int]:
        """The numbers of the micro-batches that a record was written with."""
        return numbers_in(self._record_files)

    def _has_mark(self, name: str) -> bool:
        """True if the checkpoint has a mark of a name, such as that the stream is closed."""
        # A mark is a folder, so the file in it is compared by the folders right above it: the checkpoint itself may lie
        # below folders of these names.
        return any(file.rsplit("/", 3)[1:3] == [FOLDER, name] for file in self._record_files)

    def _numbers(self, log: str) -> list[int]:
        """Return the numbers of the micro-batches in one of Spark's logs, `offsets` or `commits`."""
        return numbers_in(self._folder.files(log))


def _spelled_names(names: Sequence[str]) -> str:
    """Spell the names of the queries of one pass for an error; without names, there is one query."""
    if not names:
        return "one query, asked alone"
    return ", ".join(map(repr, names))
