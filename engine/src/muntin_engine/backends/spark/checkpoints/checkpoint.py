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
from muntin_engine.backends.spark.checkpoints.sink_checks import AT_THE_END, check_not_ahead, check_not_behind, read_of
from muntin_engine.backends.spark.checkpoints.stored_state import StoredState, buckets_of
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
_CLOSED: Final = "closed"
"""Files that say that the stream is being closed, and that it is."""

_PARTITIONS: Final = re.compile(r'"spark\.sql\.shuffle\.partitions":"(\d+)"')

_LOG: Final = logging.getLogger("muntin.checkpoint")

_NO_LETTER: Final = "\N{REPLACEMENT CHARACTER}"
"""The character that Spark reads in the place of bytes that are not UTF-8; a record is written in ASCII."""

_Q = TypeVar("_Q")


@dataclass(frozen=True)
class CheckpointNote:
    """A file to keep in a checkpoint.

    Attributes:
        checkpoint: The checkpoint.
        text: The content.
        name: The name of the file; None for the number of the micro-batch from which on it holds.
    """

    checkpoint: str
    text: str
    name: str | None = None

    def keep(self, spark: SparkSession, batch_id: int) -> None:
        """Write the file, once a micro-batch is computed and before any sink gets it.

        If that micro-batch is never committed, its record counts for nothing, and the next one replaces it.
        """
        name = batch_id if self.name is None else self.name
        row = spark.range(1).coalesce(1).select(F.lit(self.text).alias("value"))
        row.write.mode("overwrite").text(f"{self.checkpoint}/{FOLDER}/{name}")


@dataclass(frozen=True)
class _QueryRecord:
    """The record of the queries of a checkpoint. The names of the attributes are those in the file.

    Attributes:
        queries: The identities of the queries.
        places: The places that micro-batches were written to.
        names: The names of the queries, if they are of one pass.
        text: The text of the queries, as data; or, in words, the reason why they have none.
    """

    queries: list[Mapping[str, Any]]
    places: list[str]
    names: list[str]
    text: Mapping[str, Any] | str

    @classmethod
    def from_json(cls, text: str) -> _QueryRecord:
        """Read a record.

        Raises:
            ValueError, KeyError, TypeError, RecursionError: The text is no record.
        """
        if _NO_LETTER in text:
            raise ValueError("it is not text in UTF-8")
        content = json.loads(text)
        return cls(list(content["queries"]), list(content["places"]), list(content["names"]), content["text"])

    def to_json(self) -> str:
        """Write the record."""
        return json.dumps(asdict(self))


class Checkpoint:
    """The checkpoint of a Spark query in which Muntin's queries have their state, as its last micro-batch left it."""

    def __init__(self, spark: SparkSession, path: str | PathLike[str]) -> None:
        if not is_connect(spark) and not has_java_context(spark):
            raise SessionEndedError("it was stopped")  # Spark itself would fail in the JVM, in some way or other
        self._spark = spark
        self._path = fspath(path).rstrip("/")
        self._folder = CheckpointFolder(spark, self._path)

    def check(self, plans: Sequence[Plan], names: Sequence[str] = (), *, is_last_chance: bool = True) -> list[str]:
        """Describe how a query differs from the one that the checkpoint began with; raise unless it can continue.

        A checkpoint without any micro-batch belongs to nobody.

        Args:
            plans: The plans of the queries whose results the query reads, and its own as the last one; or, of one pass,
                those of all its queries as the last ones.
            names: The names of the queries of one pass, in order; none for a query that is written alone.
            is_last_chance: False if the query runs next: its first micro-batch then finds what cannot be found here,
                such as Spark being unable to read the state.

        Raises:
            StateMismatchError: The query cannot continue from the checkpoint.
            StateError: The record is damaged; or, at the last chance, the state cannot be read, or is of another time
                or place.
        """
        # First the files: of damaged ones, the checks below would only find what follows from the damage.
        self.check_place()
        self._check_logs()
        if is_last_chance:
            self.check_files()
        if self._record is not None:
            self._check_names(names)

        # Read only where a change is found, as it needs a job of Spark's.
        def progress_by_query() -> list[Progress]:
            with suppress(StateError):  # progress only makes the description more exact
                return self.state.progress(buckets_of(plans, names))
            return []

        # Buckets of one query may have states of several identities, which differ in the same way: each change is told
        # once, in order.
        changes: dict[str, None] = {}
        for identities in self._stored_identities(plans, names, is_last_chance=is_last_chance):
            for change in check_plans(plans, identities, self._path, DECLARATIONS, names, progress_by_query):
                changes[change] = None

        if is_last_chance and self._last_commit >= 0:
            # With another number of partitions Spark moves the buckets, and they stay those of an earlier micro-batch.
            last_batch = None if self.repartitioned else self._last_commit
            self.state.check_places(buckets_of(plans, names), self.query_id, last_batch)
        return list(changes)

    def _stored_identities(
        self, plans: Sequence[Plan], names: Sequence[str], *, is_last_chance: bool
    ) -> Sequence[Sequence[Mapping[str, Any]]]:
        """Return the identities of the queries, as the record has them, or else the state itself.

        The state may have several identities of each query, as each bucket has one. It has none if there are more
        queries than plans, since the DataFrame of another query may be their input.

        Cost: without a record, the state of each query is read once.
        """
        if self._record is not None:
            return [self._record.queries]
        if self._last_commit < 0:
            return []
        try:
            return self.state.identities(buckets_of(plans, names))
        except StateError:
            if is_last_chance:
                raise
            return []

    def in_order(self, queries: Mapping[str, _Q]) -> Mapping[str, _Q]:
        """Return the queries of one pass in the order of the checkpoint, by which the checkpoint numbers buckets."""
        is_alone = "" in queries
        if is_alone or set(self.names) != set(queries):
            return queries
        return {name: queries[name] for name in self.names}

    def _check_names(self, names: Sequence[str]) -> None:
        """Raise unless the checkpoint is of queries with these names, in this order.

        Raises:
            StateMismatchError: The names are others.
        """
        if list(names) != self.names:
            difference = Difference("queries of the pass", _spelled_names(self.names), _spelled_names(names))
            raise StateMismatchError([difference], checkpoint=self._path)

    def check_sinks(self, sinks: Mapping[str, Sink]) -> None:
        """Raise unless sinks have what the micro-batches of the checkpoint wrote, and nothing else.

        Args:
            sinks: The sinks that are to be written to, by the names that a query writer has for them.

        Raises:
            StateError: A folder is gone or empty, or of another time than the checkpoint.
        """
        # A sink may have one micro-batch more than the checkpoint has committed, if that comes again: the one that was
        # cut short, or the last windows, if closing the stream was.
        last_read = read_of(self._path, self._last_commit)
        next_read = read_of(self._path, self._last_commit + 1) if self.is_cut_short else None
        if self._last_commit >= 0 and self._has_record(_CLOSING):
            next_read = AT_THE_END

        for name, sink in sinks.items():
            is_new = sink.place not in self.places
            if not is_new:
                self._check_folder(name, sink)
            if self._last_commit >= 0:  # else a folder of another query may have that name
                self._check_not_ahead(name, sink, next_read)
            if not self.repartitioned:  # the micro-batch in which Spark only moved state was written to no sink
                check_not_behind(name, sink, self._last_commit, last_read, is_new=is_new)

    def _check_folder(self, name: str, sink: Sink) -> None:
        """Raise if the folder of a sink that was written to is gone or empty.

        Raises:
            StateError: The folder is gone or empty.
        """
        folder = sink.folder
        if folder is None or (folder.is_dir() and next(folder.iterdir(), None) is not None):
            return
        raise StateError(
            f"{name}: {folder} is gone or empty, and the checkpoint {self._path} has written its micro-batches "
            f"up to {self._last_commit} there\n  {TO_GO_ON}"
        )

    def _check_not_ahead(self, name: str, sink: Sink, next_read: str | None) -> None:
        """Raise if a sink is ahead of the checkpoint, and say so if another program has continued from it meanwhile.

        Raises:
            StateError: The sink is ahead.
        """
        try:
            check_not_ahead(name, sink, self._last_commit + 1, next_read)
        except StateError:
            # Listed anew: `_last_commit` is what this start found, before the sinks were looked at.
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
        if self._has_record(_CLOSED):
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
        if self._has_record(_CLOSING):
            raise StateError(
                f"the checkpoint {self._path} was being closed when that was cut short: some sinks may have its last "
                "windows\n"
                "  expected: that it is closed before anything else\n"
                "  call query.close_checkpoint(...) with this checkpoint and the same sinks"
            )

    def check_place(self) -> None:
        """Raise if the checkpoint was moved, or copied in part, so that Spark cannot start a query with it.

        The metadata of stateful operators name the files with the schemas of their states by absolute paths.

        Raises:
            StateError: A file with a schema is not where the metadata say, or a copy was cut short.
        """
        if self._has_record(COPYING):
            raise cut_short_copy_error(self._path)
        for name, metadata in self._folder.operator_metadata():
            for file in schema_files_in(metadata, f"{self._path}/{name}"):
                if self._folder.lies_at(file.root):
                    continue
                if not self._folder.exists(file.path):
                    raise self._damage_of(name) or moved_checkpoint_error(self._path, name, file)
                _LOG.warning(
                    "the checkpoint %s is a copy of %s, and works only as long as that is there: %s names %s\n"
                    "  a copy that stands alone is made by %s FROM TO",
                    self._path,
                    file.root,
                    name,
                    file.path,
                    COMMAND,
                )

    def _damage_of(self, name: str) -> StateError | None:
        """Return the error for a file with other bytes than Spark wrote; None if it is whole, or cannot be seen."""
        if not self._folder.is_visible or not has_wrong_checksum(local_path(self._path) / name):
            return None
        return damage_of(self._spark, self._path)

    def check_metadata(self) -> None:
        """Raise if Spark's own `metadata` is there and is not what Spark wrote.

        Raises:
            StateError: The file is damaged.
        """
        if not self._folder.files("metadata"):
            return
        try:
            UUID(self.query_id)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, PySparkException, Py4JError) as error:
            if is_cut_off(error):
                raise
            raise StateError(
                f"the file {self._path}/metadata is damaged: {root_cause(error)}\n"
                "  expected: the id that Spark gave the query, as JSON\n"
                "  put back a copy of the checkpoint, or start with a new one to compute all results again"
            ) from error

    def check_files(self) -> None:
        """Raise if files of Spark's are damaged or gone, as far as this process sees them.

        Raises:
            StateError: Files are damaged or gone; the message names them.
        """
        damage = damage_of(self._spark, self._path)
        if damage is not None:
            raise damage

    def _check_logs(self) -> None:
        """Raise if Spark would start and then read its input twice, or not be able to commit.

        Raises:
            StateError: A file of Spark's logs is gone.
        """
        last = self._last_commit
        # Spark takes up after the newest file of `offsets`: without that of the last commit, from an earlier place.
        if last >= 0 and last not in self._numbers("offsets"):
            raise StateError(
                f"the file {self._path}/offsets/{last} is gone, and commits/{last} says that micro-batch {last} is "
                f"done\n  expected: the file, in which Spark wrote what that read; it would be read again\n  {RESTORE}"
            )
        file = f"{self._path}/commits/{last + 1}"
        checksum = f"{self._path}/commits/.{last + 1}.crc"
        # Spark puts a file in its place before its checksum, so that of a running query is never alone.
        if self._folder.is_visible and local_path(checksum).exists() and not local_path(file).exists():
            raise StateError(
                f"the file {file} is gone, and its checksum {checksum} is there, so Spark cannot write it again\n"
                "  expected: both, or none\n"
                f"  put the file back, or remove the checksum: micro-batch {last + 1} then comes again, to the sinks "
                "that\n  have it too"
            )

    @property
    def is_closed(self) -> bool:
        """True if the stream was closed."""
        return self._has_record(_CLOSED)

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
    def closing_begins(self) -> CheckpointNote:
        """The record that the last windows are being written."""
        return CheckpointNote(self._path, "{}", _CLOSING)

    @property
    def closing_ends(self) -> CheckpointNote:
        """The record that the last windows have been written."""
        return CheckpointNote(self._path, "{}", _CLOSED)

    @cached_property
    def state(self) -> StoredState:
        """The state in the checkpoint."""
        return StoredState(self._spark, self._path, self._last_commit if self._last_commit >= 0 else None)

    @property
    def has_begun(self) -> bool:
        """True if it is known that a micro-batch was committed in which buckets were evaluated."""
        return self._record is not None

    @cached_property
    def repartitioned(self) -> int | None:
        """The last micro-batch, if in it Spark gave the state another number of partitions instead of running a query.

        Spark writes with each micro-batch how many partitions there are.
        """
        last = self._last_commit
        if last <= 0:
            return None
        partition_counts: list[str] = []
        for number in (last - 1, last):
            settings = _PARTITIONS.findall(self._folder.text(f"offsets/{number}"))
            if not settings:
                return None
            partition_counts.append(settings[-1])
        return last if partition_counts[0] != partition_counts[1] else None

    def record(
        self,
        plans: Sequence[Plan],
        names: Sequence[str] = (),
        places: Iterable[str] = (),
        text: Mapping[str, Any] | str = "",
    ) -> CheckpointNote | None:
        """Return the record of queries that continue from the checkpoint, or begin it; None if it has that already.

        The first micro-batch that the queries run keeps it: until then the checkpoint may be of another query, which
        runs, and beside which Spark lets no second one start.

        Args:
            plans: As in `check`.
            names: As in `check`.
            places: The places that are written to.
            text: The text of the queries, as data; or, in words, the reason why they have none.
        """
        identities: list[Mapping[str, Any]] = [plan_identity(plan) for plan in plans]
        if self._record is not None:
            stored_identities = self._record.queries
            new_identities = identities
            identities = []
            for new_identity, stored_identity in zip(new_identities, stored_identities, strict=True):
                identities.append(with_stored_hashes(new_identity, stored_identity))
        record = _QueryRecord(identities, sorted({*self.places, *places}), list(names), text)

        # The record of a micro-batch that was never committed would hold once that one is: it has to be replaced.
        is_newest = all(number <= self._last_commit for number in self._record_numbers)
        if record == self._record and is_newest:
            return None
        return CheckpointNote(self._path, record.to_json())

    @property
    def places(self) -> list[str]:
        """The places that micro-batches were written to, as far as that was recorded."""
        return [] if self._record is None else self._record.places

    @property
    def names(self) -> list[str]:
        """The names of the queries, if they are of one pass."""
        return [] if self._record is None else self._record.names

    @property
    def text(self) -> Mapping[str, Any] | str:
        """The text of the queries, as data; or, in words, the reason for having none: empty if nothing was recorded."""
        return "" if self._record is None else self._record.text

    @cached_property
    def _record(self) -> _QueryRecord | None:
        """The record that holds since the last committed micro-batch.

        Raises:
            StateError: The record is damaged.
        """
        committed_numbers = [number for number in self._record_numbers if number <= self._last_commit]
        if not committed_numbers:
            return None
        file = f"{FOLDER}/{max(committed_numbers)}"
        try:
            return _QueryRecord.from_json(self._folder.text_by_spark(file))
        except (ValueError, KeyError, TypeError, RecursionError, PySparkException, Py4JError) as error:
            if is_cut_off(error):
                raise
            raise StateError(
                f"the record {self._path}/{file} is damaged: {root_cause(error)}\n"
                "  expected: the identity of the checkpoint's query, as JSON\n"
                f"  delete the folder {self._path}/{FOLDER}: the query then reads the state itself"
            ) from error

    @cached_property
    def _last_commit(self) -> int:
        return max(self._numbers("commits"), default=-1)

    @cached_property
    def _record_files(self) -> list[str]:
        """The files of records and notes. Spark writes each as a folder of its name with a file of its own in it."""
        return self._folder.files(FOLDER)

    @property
    def _record_numbers(self) -> list[int]:
        return numbers_in(self._record_files)

    def _has_record(self, name: str) -> bool:
        return any(f"/{FOLDER}/{name}/" in file for file in self._record_files)

    def _numbers(self, log: str) -> list[int]:
        """Return the numbers of the micro-batches in one of Spark's logs."""
        return numbers_in(self._folder.files(log))


def _spelled_names(names: Sequence[str]) -> str:
    if not names:
        return "one query, asked alone"
    return ", ".join(map(repr, names))
