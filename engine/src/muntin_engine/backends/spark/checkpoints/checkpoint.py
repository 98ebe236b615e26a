"""The record of the queries that a checkpoint belongs to: read before a query starts, kept beside Spark's own files.

All reading and writing is done by DataFrames, so it works wherever Spark itself keeps the checkpoint, and on Spark
Connect as well.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from os import PathLike, fspath
from typing import Any, Final, TypeVar
from uuid import UUID

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from muntin_engine.backends.spark.checkpoints.checkpoint_files import damage_of, has_wrong_checksum
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
from muntin_engine.plan.code_in_use import as_it_began
from muntin_engine.plan.continuing import check_plans
from muntin_engine.plan.identity import plan_identity
from muntin_engine.sinks import Sink
from muntin_engine.sinks.addresses import is_elsewhere, local_path, unpatterned
from muntin_engine.sinks.checkpoint_copy import (
    COMMAND,
    COPYING,
    RECORDS,
    SchemaFile,
    cut_short_copy_error,
    is_same_place,
    moved_checkpoint_error,
    schema_files_in,
)
from muntin_engine.sinks.owned_folder import TO_GO_ON
from muntin_engine.time.changes import Progress

FOLDER: Final = RECORDS
"""The folder in a checkpoint. What is in `muntin/7` holds from micro-batch 7 on, once that is committed."""

_CLOSING: Final = "closing"
_CLOSED: Final = "closed"
"""Files that say that the stream is being closed, and that it is."""

_FILE: Final = re.compile(r"/(\d+)/[^/]+$|/(\d+)$")
_PARTITIONS: Final = re.compile(r'"spark\.sql\.shuffle\.partitions":"(\d+)"')
_NOT_FOUND: Final = "PATH_NOT_FOUND"
_OPERATOR_METADATA: Final = "state/*/_metadata/v2/*"

_LOG: Final = logging.getLogger("muntin.checkpoint")

_NO_LETTER: Final = "\N{REPLACEMENT CHARACTER}"
"""What Spark reads in the place of bytes that are not UTF-8; a record is written in ASCII."""

_Q = TypeVar("_Q")


@dataclass(frozen=True)
class CheckpointNote:
    """A record to keep in a checkpoint.

    Attributes:
        checkpoint: The checkpoint.
        text: The content.
        name: The name of the file; None for the number of the micro-batch from which on it holds.
    """

    checkpoint: str
    text: str
    name: str | None = None

    def keep(self, spark: SparkSession, batch_id: int) -> None:
        """Keep it, once a micro-batch is computed, before any sink gets it.

        If that micro-batch is never committed, its record counts for nothing, and the next one replaces it.
        """
        name = batch_id if self.name is None else self.name
        row = spark.range(1).coalesce(1).select(F.lit(self.text).alias("value"))
        row.write.mode("overwrite").text(f"{self.checkpoint}/{FOLDER}/{name}")


class Checkpoint:
    """The checkpoint of a Spark query in which Muntin's queries have their state, as its last micro-batch left it."""

    def __init__(self, spark: SparkSession, path: str | PathLike[str]) -> None:
        if not is_connect(spark) and not has_java_context(spark):
            raise SessionEndedError("it was stopped")  # Spark itself would fail in the JVM, in some way or other
        self._spark = spark
        self._path = fspath(path).rstrip("/")

    def check(self, plans: Sequence[Plan], names: Sequence[str] = (), *, is_last_chance: bool = True) -> list[str]:
        """Return in words how a query is not what it began with; raise unless the query can go on with it.

        A checkpoint without any micro-batch belongs to nobody.

        Args:
            plans: The plans of the queries that it takes the results of, and its own as the last one; or, of one pass,
                those of all its queries as the last ones.
            names: The names of the queries of one pass, in order; none for a query that is asked alone.
            is_last_chance: False if the query runs next, and so finds out in its first micro-batch what cannot be found
                out here, such as Spark being unable to read its state.

        Raises:
            StateMismatchError: It cannot.
            StateError: Its record is damaged; or, at the last chance, its state cannot be read, or is of another time
                or place.
        """
        self.check_place()
        self._check_logs()
        if is_last_chance:
            self.check_files()
        if self._recorded is not None:
            self._check_names(names)
        found: list[list[Mapping[str, Any]]] = [[*self._recorded]] if self._recorded is not None else []
        with suppress(*[] if is_last_chance else [StateError]):
            found = found or self._in_state(plans, names)
        reached = partial(self._reached, plans, names)
        changed = list(
            {text: 0 for one in found for text in check_plans(plans, one, self._path, DECLARATIONS, names, reached)}
        )
        if is_last_chance and self._last_commit >= 0:
            last = None if self.repartitioned else self._last_commit
            self.state.check_places(buckets_of(plans, names), self.query_id, last)
        return changed

    def _reached(self, plans: Sequence[Plan], names: Sequence[str]) -> list[Progress]:
        """Return how far each query is; nothing if that cannot be read."""
        with suppress(StateError):
            return self.state.progress(buckets_of(plans, names))
        return []

    def in_order(self, queries: Mapping[str, _Q]) -> Mapping[str, _Q]:
        """Return the queries of one pass in the order that the checkpoint has them in, by which it numbers buckets."""
        known = [] if "" in queries else self.names
        return {name: queries[name] for name in known} if set(known) == set(queries) else queries

    def _check_names(self, names: Sequence[str]) -> None:
        if list(names) != self.names:
            alone = "one query, asked alone"
            said = [", ".join(map(repr, some)) or alone for some in (self.names, names)]
            raise StateMismatchError([Difference("queries of the pass", *said)], checkpoint=self._path)

    def check_sinks(self, sinks: Mapping[str, Sink]) -> None:
        """Raise unless sinks have what its micro-batches wrote, and nothing else.

        Args:
            sinks: The sinks that are to be written to, by what a query writer calls them.

        Raises:
            StateError: A folder is gone or empty, or of another time than the checkpoint.
        """
        done = read_of(self._path, self._last_commit)
        planned = read_of(self._path, self._last_commit + 1) if self.is_cut_short else None
        for name, sink in sinks.items():
            folder = sink.folder
            is_there = folder is None or (folder.is_dir() and next(folder.iterdir(), None) is not None)
            if sink.place in self.places and not is_there:
                raise StateError(
                    f"{name}: {folder} is gone or empty, and the checkpoint {self._path} has written its micro-batches "
                    f"up to {self._last_commit} there\n  {TO_GO_ON}"
                )
            if self._last_commit >= 0:  # else another query's folder may be told by its name
                with self._unless_it_runs():
                    read = AT_THE_END if self._is_kept(_CLOSING) else planned
                    check_not_ahead(name, sink, self._last_commit + 1, read)
            if not self.repartitioned:
                check_not_behind(name, sink, self._last_commit, done, is_new=sink.place not in self.places)

    @contextmanager
    def _unless_it_runs(self) -> Iterator[None]:
        """Say of what is ahead of the checkpoint if another program has gone on with it meanwhile.

        Raises:
            StateError: Something is ahead.
        """
        try:
            yield
        except StateError:
            newest = max(self._numbers("commits"), default=-1)
            if newest > self._last_commit:
                raise StateError(
                    f"another program runs a query with the checkpoint {self._path}: it committed micro-batch "
                    f"{newest}, and the last one was {self._last_commit} when this start began\n"
                    "  expected: one query at a time for each checkpoint\n"
                    "  stop one of the two, and start this one again; nothing is lost"
                ) from None
            raise

    def check_open(self) -> None:
        """Raise if its stream was closed.

        Raises:
            StateError: It was, or that was cut short.
        """
        if self._is_kept(_CLOSED):
            raise StateError(
                f"the checkpoint {self._path} is closed: its last windows were emitted, so every further row would "
                "be late\n"
                "  expected: the checkpoint of a stream that goes on; on_end='close' and close_checkpoint() end one\n"
                "  to compute everything again, delete it and the folders that it wrote to, or name other ones"
            )
        if self._is_kept(_CLOSING):
            raise StateError(
                f"the checkpoint {self._path} was being closed when that was cut short: some sinks may have its last "
                "windows\n"
                "  expected: that it is closed before anything else\n"
                "  call query.close_checkpoint(...) with this checkpoint and the same sinks"
            )

    def check_place(self) -> None:
        """Raise if it was moved, or copied in part, so that Spark cannot start a query with it.

        The metadata of stateful operators name the files with the schemas of their states by absolute paths.

        Raises:
            StateError: Such a file is not where they say, or a copy was cut short.
        """
        if self._is_kept(COPYING):
            raise cut_short_copy_error(self._path)
        for name, metadata in self._operator_metadata():
            for file in schema_files_in(metadata, f"{self._path}/{name}"):
                if self._lies_at(file.root):
                    continue
                if not self._is_there(file):
                    raise self._damage_of(name) or moved_checkpoint_error(self._path, name, file)
                _LOG.warning(
                    "the checkpoint %s is a copy of %s, and works only as long as that is there: %s names %s\n"
                    "  a copy that stands alone is made by %s FROM TO",
                    *(self._path, file.root, name, file.path, COMMAND),
                )

    def _damage_of(self, name: str) -> StateError | None:
        """Return the error for a file with other bytes than Spark wrote; None if it has these, or cannot be seen."""
        if not self._is_seen or not has_wrong_checksum(local_path(self._path) / name):
            return None
        return damage_of(self._spark, self._path)

    def _operator_metadata(self) -> Iterator[tuple[str, str]]:
        """Yield the name and the content of each file with the metadata of a stateful operator."""
        if self._is_seen:
            folder = local_path(self._path)
            for path in sorted(folder.glob(_OPERATOR_METADATA)):
                if not path.name.startswith("."):
                    yield str(path.relative_to(folder)), path.read_text(encoding="utf-8", errors="replace")
            return
        for file in self._files(_OPERATOR_METADATA):
            name = "/".join(file.rsplit("/", 5)[1:])
            yield name, "\n".join(row["value"] for row in self._lines(name).collect())

    def _lies_at(self, root: str) -> bool:
        """Return True if a path with a scheme, in metadata of Spark's, is that of this checkpoint."""
        if is_elsewhere(self._path) or is_elsewhere(root):
            return is_same_place(root, self._path)
        if local_path(root) == local_path(self._path):
            return True
        return self._is_seen and local_path(root).exists() and local_path(root).samefile(local_path(self._path))

    def _is_there(self, file: SchemaFile) -> bool:
        """Return True if a file exists that metadata of Spark's name."""
        if not is_elsewhere(file.path) and not is_connect(self._spark):
            return local_path(file.path).exists()
        try:
            return bool(self._spark.read.format("binaryFile").load(unpatterned(file.path)).inputFiles())
        except AnalysisException as error:
            if error.getCondition() == _NOT_FOUND:
                return False
            raise

    def check_metadata(self) -> None:
        """Raise if Spark's own `metadata` is there and is not what Spark wrote.

        Raises:
            StateError: It is damaged.
        """
        if not self._files("metadata"):
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
            StateError: They are; it names them.
        """
        damage = damage_of(self._spark, self._path)
        if damage is not None:
            raise damage

    def _check_logs(self) -> None:
        """Raise if Spark would start, and read again what it has read, or not be able to commit.

        Raises:
            StateError: It would.
        """
        last = self._last_commit
        if last >= 0 and last not in self._numbers("offsets"):
            raise StateError(
                f"the file {self._path}/offsets/{last} is gone, and commits/{last} says that micro-batch {last} is "
                f"done\n  expected: the file, in which Spark wrote what that read; it would be read again\n  {RESTORE}"
            )
        file = f"{self._path}/commits/{last + 1}"
        checksum = f"{self._path}/commits/.{last + 1}.crc"
        # Spark puts a file in its place before its checksum, so that of a running query is never alone.
        if self._is_seen and local_path(checksum).exists() and not local_path(file).exists():
            raise StateError(
                f"the file {file} is gone, and its checksum {checksum} is there, so Spark cannot write it again\n"
                "  expected: both, or none\n"
                f"  put the file back, or remove the checksum: micro-batch {last + 1} then comes again, to the sinks "
                "that\n  have it too"
            )

    @property
    def is_closed(self) -> bool:
        """True if its stream was closed."""
        return self._is_kept(_CLOSED)

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
        """Spark's id of the query, which it writes down before the first micro-batch begins."""
        said: str = json.loads("".join(row["value"] for row in self._lines("metadata").collect()))["id"]
        return said

    @property
    def closing_begins(self) -> CheckpointNote:
        """The record that its last windows are being written."""
        return CheckpointNote(self._path, "{}", _CLOSING)

    @property
    def closing_ends(self) -> CheckpointNote:
        """The record that its last windows have been written."""
        return CheckpointNote(self._path, "{}", _CLOSED)

    @cached_property
    def state(self) -> StoredState:
        """The state in it."""
        return StoredState(self._spark, self._path, self._last_commit if self._last_commit >= 0 else None)

    @property
    def has_begun(self) -> bool:
        """True if it is known that a micro-batch was committed in which buckets were evaluated."""
        return self._note is not None

    @property
    def repartitioned(self) -> int | None:
        """The last micro-batch, if in it Spark gave the state another number of partitions instead of running a query.

        Spark writes down with each micro-batch how many partitions there are.
        """
        last = self._last_commit
        found = [_PARTITIONS.findall(self._text(f"offsets/{number}")) for number in (last - 1, last) if last > 0]
        return last if all(found) and len({some[-1] for some in found}) > 1 else None

    def record(
        self,
        plans: Sequence[Plan],
        names: Sequence[str] = (),
        places: Iterable[str] = (),
        text: Mapping[str, Any] | str = "",
    ) -> CheckpointNote | None:
        """Return the record of queries that continue from it, or begin it; None if that is there already.

        Args:
            plans: As in `check`.
            names: As in `check`.
            places: The places that are written to.
            text: The text of the queries, as data; or, in words, why they have none.

        It is kept by the first micro-batch that they run, not here: until then the checkpoint may be another query's,
        which runs, and which Spark lets no second one start beside.
        """
        identities: list[Mapping[str, Any]] = [plan_identity(plan) for plan in plans]
        identities = [*map(as_it_began, identities, self._recorded or identities)]
        written_to = sorted({*self.places, *places})
        said = {"queries": identities, "places": written_to, "names": list(names), "text": text}
        is_kept = said == self._note and all(number <= self._last_commit for number in self._records)
        return None if is_kept else CheckpointNote(self._path, json.dumps(said))

    @property
    def _recorded(self) -> list[Mapping[str, Any]] | None:
        """The queries of the last committed micro-batch, if they were recorded."""
        return None if self._note is None else self._note["queries"]

    @property
    def places(self) -> list[str]:
        """The places that micro-batches were written to, as far as that was recorded."""
        return [] if self._note is None else self._note["places"]

    @property
    def names(self) -> list[str]:
        """The names of the queries, if they are of one pass."""
        return [] if self._note is None else self._note["names"]

    @property
    def text(self) -> Mapping[str, Any] | str:
        """The text of the queries, as data; or, in words, why they have none, which is empty if no one recorded it."""
        return "" if self._note is None else self._note["text"]

    @cached_property
    def _note(self) -> Mapping[str, Any] | None:
        """The record that holds since the last committed micro-batch.

        Raises:
            StateError: It is damaged.
        """
        committed = [number for number in self._records if number <= self._last_commit]
        if not committed:
            return None
        place = f"{FOLDER}/{max(committed)}"
        try:
            text = "\n".join(row["value"] for row in self._lines(place).collect())
            if _NO_LETTER in text:
                raise ValueError("it is not text in UTF-8")
            said = json.loads(text)
            return {**{name: list(said[name]) for name in ("queries", "places", "names")}, "text": said["text"]}
        except (ValueError, KeyError, TypeError, RecursionError, PySparkException, Py4JError) as error:
            if is_cut_off(error):
                raise
            raise StateError(
                f"the record {self._path}/{place} is damaged: {root_cause(error)}\n"
                "  expected: the identity of the checkpoint's query, as JSON\n"
                f"  delete the folder {self._path}/{FOLDER}: the query then reads the state itself"
            ) from error

    def _in_state(self, plans: Sequence[Plan], names: Sequence[str]) -> list[list[Mapping[str, object]]]:
        """Return the identities in the state itself, for each query those of its buckets.

        Cost: the state of each query is read once. The result is empty if there are more queries than wanted, since
        another one's DataFrame may be their input.
        """
        return [] if self._last_commit < 0 else self.state.identities(buckets_of(plans, names))

    @cached_property
    def _last_commit(self) -> int:
        return max(self._numbers("commits"), default=-1)

    @cached_property
    def _records(self) -> list[int]:
        return self._numbers(FOLDER)

    def _is_kept(self, name: str) -> bool:
        return any(f"/{FOLDER}/{name}/" in file for file in self._kept_files)

    @cached_property
    def _kept_files(self) -> list[str]:
        return self._files(FOLDER)

    def _files(self, folder: str) -> list[str]:
        """Return the files in a folder, and in those in it."""
        try:
            # of a folder that is missing Spark would log an error, with all that the JVM was doing
            is_missing = self._is_seen and not (local_path(self._path) / folder).exists()
            return [] if is_missing else self._lines(folder).inputFiles()
        except AnalysisException as error:
            if error.getCondition() == _NOT_FOUND:
                return []
            raise

    @property
    def _is_seen(self) -> bool:
        """True if the driver sees its files itself."""
        return not is_connect(self._spark) and not is_elsewhere(self._path)

    def _numbers(self, folder: str) -> list[int]:
        """Return the numbers of the micro-batches that have a file, or a folder with one."""
        files = self._kept_files if folder == FOLDER else self._files(folder)
        found = (_FILE.search(file) for file in files)
        return [int(match[1] or match[2]) for match in found if match is not None]

    def _text(self, path: str) -> str:
        """Return the text of a file, without asking Spark where the driver sees it itself; empty if it is gone."""
        if self._is_seen:
            file = local_path(self._path) / path
            return file.read_text(errors="replace") if file.exists() else ""
        return "\n".join(row["value"] for row in self._lines(path).collect()) if self._files(path) else ""

    def _lines(self, path: str) -> DataFrame:
        """Return the lines of a file, or of all files in a folder."""
        escaped = unpatterned(self._path)
        return self._spark.read.format("text").option("recursiveFileLookup", "true").load(f"{escaped}/{path}")
