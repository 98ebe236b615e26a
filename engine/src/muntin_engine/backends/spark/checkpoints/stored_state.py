"""The state in a checkpoint, read by Spark's own reader while no query runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple, TypeAlias

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from muntin_engine.backends.spark.checkpoints.checkpoint_files import damage_of
from muntin_engine.backends.spark.failures.root_cause import root_cause
from muntin_engine.backends.spark.operators.bucket_processor import IDLE
from muntin_engine.backends.spark.session.classic import Py4JError
from muntin_engine.backends.spark.session.ended import is_cut_off
from muntin_engine.backends.spark.session.kinds import is_connect
from muntin_engine.errors import StateError
from muntin_engine.plan import Plan
from muntin_engine.sinks.addresses import is_elsewhere, local_path
from muntin_engine.state.bucket_state import BucketQuery, query_and_progress
from muntin_engine.state.cells import METADATA, Origin, split, unseal
from muntin_engine.state.codec import Codec
from muntin_engine.time.changes import Progress
from muntin_engine.time.inputs_progress import furthest_progress
from muntin_engine.wire.bucket_ids import bucket_ids, murmur3

_PLAIN_PATH: Final = re.compile(r"[\w./:@+=~-]*", re.ASCII)
_MOST_NAMED: Final = 8
"""The number of misplaced files that an error names."""

Buckets: TypeAlias = Sequence[Sequence[Sequence[int]]]
"""The ids of the buckets of each query, by the stateful operator that evaluates it, in the order of the rows."""


def buckets_of(plans: Sequence[Plan], names: Sequence[str]) -> Buckets:
    """Return the buckets of queries.

    Args:
        plans: The plans of the queries whose results are read, each with an operator of its own; then those of the
            queries of one pass, which share the last operator.
        names: The names of the queries of one pass; none for a query that is written alone.
    """
    pass_size = len(names) or 1
    buckets: list[list[Sequence[int]]] = [[bucket_ids(plan.buckets)] for plan in plans[:-pass_size]]
    buckets.append([bucket_ids(plan.buckets, place) for place, plan in enumerate(plans[-pass_size:])])
    return buckets


class _StatefulOperator(NamedTuple):
    """A stateful operator of Muntin's in a checkpoint."""

    id: int
    partitions: int


class _BucketOrigin(NamedTuple):
    """The partition that a bucket's metadata are in, and the origin of the cell."""

    partition: int
    origin: Origin


class _IdlePartition(NamedTuple):
    """The first and the last micro-batch of those in a row in which a partition had no bucket to evaluate."""

    since: int
    until: int


class _OperatorOrigins(NamedTuple):
    """The origins of the cells of an operator.

    Attributes:
        buckets: The origin of the metadata of each bucket.
        idle: The idle partitions, by their numbers.
    """

    buckets: Mapping[int, _BucketOrigin]
    idle: Mapping[int, _IdlePartition]

    @property
    def has_origins(self) -> bool:
        """False on Spark Connect, where tasks know neither their query nor their micro-batch."""
        return bool(self.idle) or any(bucket.origin.query for bucket in self.buckets.values())


class StoredState:
    """The state in a checkpoint, as it was after a micro-batch; the query may run meanwhile, and go on."""

    def __init__(self, spark: SparkSession, path: str, batch: int | None = None) -> None:
        """Read the state of a checkpoint.

        Args:
            spark: The session that reads it.
            path: The checkpoint.
            batch: The micro-batch; None for the last one that is committed when the state is read.
        """
        self._spark = spark
        self._path = path
        self._options = {} if batch is None else {"batchId": str(batch)}
        _ = spark.streams  # its reader of states needs what this property starts in PySpark 4.1

    @contextmanager
    def cells(self, place: int = 0) -> Iterator[DataFrame]:
        """Lend the cells of an operator: the columns `bucket`, `name` and `data`.

        Args:
            place: The place of the operator, in the order in which rows pass the operators.

        Raises:
            StateError: The cells cannot be read.
        """
        with self._readable() as path:
            with self._reading():
                cells = self._cells(path, self._operators(path)[place])
            yield cells.select("key.bucket", "user_map_key.name", "user_map_value.data")

    @contextmanager
    def every_cell(self) -> Iterator[tuple[DataFrame, bool]]:
        """Lend the cells of all operators; and True if they cannot be read any more after the block.

        The columns are `operator`, `bucket`, `name` and `data`.

        Raises:
            StateError: The cells cannot be read.
        """
        with self._readable() as path, self._reading():
            has_borrowed_path = path != self._path  # a link, which is removed after the block
            yield reduce(DataFrame.unionAll, self._by_operator(path)), has_borrowed_path

    def identity_by_bucket(self) -> dict[tuple[int, int], Mapping[str, Any]]:
        """Return the identity of the query in each bucket, by operator and bucket, in the order of the rows.

        Raises:
            StateError: The state is damaged, or cannot be read.
        """
        identities: dict[tuple[int, int], Mapping[str, Any]] = {}
        with self._readable() as path, self._reading():
            for cells in self._by_operator(path):
                rows = cells.where(F.col("name") == METADATA).orderBy("bucket").collect()
                for operator, bucket, name, data in rows:
                    metadata = split(unseal(name, bytes(data), f"bucket {bucket} of operator {operator}"))[1]
                    identity = query_and_progress(metadata, Codec()).identity
                    identities[operator, bucket] = identity
        return identities

    def _by_operator(self, path: str) -> list[DataFrame]:
        """Return the cells of each operator: the columns `operator`, `bucket`, `name` and `data`."""
        columns = ("key.bucket", "user_map_key.name", "user_map_value.data")
        tables: list[DataFrame] = []
        for operator in self._operators(path):
            cells = self._cells(path, operator)
            tables.append(cells.select(F.lit(operator.id).alias("operator"), *columns))
        return tables

    def identities(self, buckets: Buckets) -> list[list[Mapping[str, object]]]:
        """Return the identities in the state as rows, each with one identity of each query.

        The buckets of a query may have several identities, for example after an upgrade that only some of them have
        had. There are as many rows as the query with the most identities has; other queries repeat their last one.

        Returns:
            The rows; none if the state has other operators than `buckets`, or lacks a query.

        Raises:
            StateError: The state is damaged, or cannot be read.
        """
        identities_by_query: list[list[Mapping[str, Any]]] = []
        with self._readable() as path, self._reading():
            operators = self._operators(path)
            if len(operators) != len(buckets):
                return []
            for operator, operator_buckets in zip(operators, buckets, strict=True):
                for query_buckets in operator_buckets:
                    identities_by_query.append(self._identities(path, operator, query_buckets))
        if not all(identities_by_query):
            return []  # a query without state says nothing

        rows: list[list[Mapping[str, object]]] = []
        for row_number in range(max(map(len, identities_by_query), default=0)):
            row: list[Mapping[str, object]] = []
            for identities in identities_by_query:
                last = len(identities) - 1
                row.append(identities[min(row_number, last)])
            rows.append(row)
        return rows

    def progress(self, buckets: Buckets) -> list[Progress]:
        """Return the progress of each query.

        Raises:
            StateError: The state is damaged, or cannot be read.
        """
        progress_by_query: list[Progress] = []
        with self._readable() as path, self._reading():
            for operator, operator_buckets in zip(self._operators(path), buckets, strict=True):
                for query_buckets in operator_buckets:
                    queries = self._queries(path, operator, query_buckets)
                    progress_by_query.append(furthest_progress(query.progress for query in queries))
        return progress_by_query

    def check_places(self, buckets: Buckets, query_id: str, last_batch: int | None) -> None:
        """Raise unless the state of each bucket is in its partition, of the query, and of the last micro-batch.

        Args:
            buckets: The buckets of the queries.
            query_id: The id of the query, as Spark keeps it in the checkpoint.
            last_batch: The last micro-batch that was committed; None if a bucket may be of an earlier one.

        Raises:
            StateError: A bucket is gone or elsewhere, or the state cannot be read; the message names the files.

        Cost: the state of each query is read once.
        """
        with self._readable() as path, self._reading():
            operators = self._operators(path)
            origins = [self._origins(path, operator) for operator in operators]
        if len(buckets) != len(operators):
            buckets = [[] for _ in operators]  # operators of other queries: only the buckets in the state are checked

        misplaced: list[str] = []
        for operator, operator_buckets, operator_origins in zip(operators, buckets, origins, strict=True):
            expected_buckets = set(chain.from_iterable(operator_buckets))
            misplaced += _misplaced(operator, expected_buckets, operator_origins, query_id, last_batch)
        if not misplaced:
            return
        lines = [
            f"files of the state in the checkpoint {self._path} are gone, or in the place of others",
            *misplaced[:_MOST_NAMED],
        ]
        if len(misplaced) > _MOST_NAMED:
            lines.append(f"and {len(misplaced) - _MOST_NAMED} more")
        lines.append(
            "put back all files of the checkpoint as they were at one time, or start with a new checkpoint",
        )
        raise StateError("\n  ".join(lines))

    @contextmanager
    def _readable(self) -> Iterator[str]:
        """Lend a path under which Spark can read the state.

        Spark's reader of states looks for `a%20b` where a path is `a b`. A link to the folder helps, where the workers
        have the driver's disk.
        """
        master = "" if is_connect(self._spark) else self._spark.sparkContext.master or ""
        if self._has_plain_path or not master.startswith("local") or is_elsewhere(self._path):
            yield self._path
            return
        with TemporaryDirectory(prefix="muntin-checkpoint-") as folder:
            link = Path(folder) / "link"
            link.symlink_to(local_path(self._path), target_is_directory=True)
            yield str(link)

    @property
    def _has_plain_path(self) -> bool:
        return _PLAIN_PATH.fullmatch(self._path) is not None

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Explain errors of Spark in the block.

        Raises:
            StateError: The state cannot be read.
        """
        try:
            yield
        except (PySparkException, Py4JError) as error:
            if is_cut_off(error):
                raise
            damage = damage_of(self._spark, self._path)
            if damage is not None:
                raise damage from error
            advice = ""
            if not self._has_plain_path:
                advice = "  Spark reads no state where a path has spaces, accents or other such characters\n"
            raise StateError(
                f"the state in the checkpoint {self._path} cannot be read: {root_cause(error)}\n{advice}"
                "  expected: all files of a checkpoint in which a micro-batch was committed, as Spark wrote them\n"
                "  restore them from a copy, or start the query with a new checkpoint"
            ) from error

    def _operators(self, path: str) -> list[_StatefulOperator]:
        """Return the stateful operators of Muntin's queries, in the order in which rows pass them."""
        operators = self._spark.read.format("state-metadata").options(**self._options).load(path)
        ours = operators.where(F.col("operatorProperties").contains('"stateName":"cells"'))
        rows = ours.select("operatorId", "numPartitions").distinct().collect()
        # Spark numbers operators from the end of the plan: rows pass the one with the highest number first.
        return sorted((_StatefulOperator(*row) for row in rows), reverse=True)

    def _cells(self, path: str, operator: _StatefulOperator) -> DataFrame:
        """Return the cells of an operator in the columns of Spark's reader: `key`, `user_map_key`, `user_map_value`."""
        reader = self._spark.read.format("statestore").options(**self._options)
        return reader.option("operatorId", operator.id).option("stateVarName", "cells").load(path)

    def _identities(self, path: str, operator: _StatefulOperator, buckets: Sequence[int]) -> list[Mapping[str, Any]]:
        """Return the different identities of a query, given its buckets."""
        by_text: dict[str, Mapping[str, Any]] = {}
        for query in self._queries(path, operator, buckets):
            by_text[json.dumps(query.identity, sort_keys=True)] = query.identity
        return list(by_text.values())

    def _queries(self, path: str, operator: _StatefulOperator, buckets: Sequence[int]) -> Iterator[BucketQuery]:
        """Yield for each bucket the query that wrote it, with its progress there."""
        cells = self._cells(path, operator).where(F.col("user_map_key.name") == METADATA)
        for row in cells.where(F.col("key.bucket").isin(*buckets)).select("user_map_value.data").collect():
            yield query_and_progress(split(unseal(METADATA, bytes(row[0])))[1], Codec())

    def _origins(self, path: str, operator: _StatefulOperator) -> _OperatorOrigins:
        """Read the origins of all metadata of an operator."""
        cells = self._cells(path, operator).where(F.col("user_map_key.name").isin(METADATA, IDLE))
        rows = cells.select("partition_id", "key.bucket", "user_map_key.name", "user_map_value.data").collect()
        buckets: dict[int, _BucketOrigin] = {}
        idle: dict[int, _IdlePartition] = {}
        for partition, bucket, name, data in rows:
            cell = unseal(name, bytes(data), f"bucket {bucket} in {_folder(operator, partition)}")
            if name == IDLE:
                idle[partition] = _IdlePartition(since=int(cell.data), until=cell.origin.batch)
            else:
                buckets[bucket] = _BucketOrigin(partition, cell.origin)
        return _OperatorOrigins(buckets, idle)


def _folder(operator: _StatefulOperator, partition: int) -> str:
    return f"state/{operator.id}/{partition}"


def _misplaced(
    operator: _StatefulOperator,
    expected_buckets: set[int],
    origins: _OperatorOrigins,
    query_id: str,
    last_batch: int | None,
) -> Iterator[str]:
    """Describe the buckets of an operator that are missing, in another partition, or of another query or time.

    Args:
        operator: The operator.
        expected_buckets: The ids of the buckets that should be there; those in the state are checked too.
        origins: The origins of its cells.
        query_id: Spark's id of the query.
        last_batch: The last micro-batch; None if a bucket may be of an earlier one.
    """
    has_origins = origins.has_origins
    for bucket in sorted(expected_buckets | origins.buckets.keys()):
        home = murmur3(bucket) % operator.partitions  # as Spark's shuffle spreads its keys
        stored = origins.buckets.get(bucket)
        if stored is None:
            # A bucket has no state only if no micro-batch has had a row yet.
            was_always_idle = origins.idle.get(home) == (0, last_batch)
            if has_origins and last_batch is not None and not was_always_idle:
                yield f"{_folder(operator, home)} lacks the state of bucket {bucket}"
            continue

        partition, origin = stored
        folder = _folder(operator, partition)
        if partition != home:
            yield f"{folder} has the state of bucket {bucket}, of {_folder(operator, home)}"
        elif not has_origins:
            continue
        elif (origin.query, origin.bucket) != (query_id, bucket):
            yield f"{folder} has the state {origin}, as that of bucket {bucket} of {query_id}"
        elif last_batch is not None and origin.batch != last_batch:
            # An idle partition does not write its buckets again.
            idle = origins.idle.get(partition)
            is_idle_since = idle is not None and idle.since <= origin.batch + 1 and idle.until == last_batch
            if not is_idle_since:
                yield f"{folder} has the state {origin}, and the last one was {last_batch}"
