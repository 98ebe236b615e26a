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
from muntin_engine.backends.spark.session.classic import Py4JError
from muntin_engine.backends.spark.session.ended import is_cut_off
from muntin_engine.backends.spark.session.kinds import is_connect
from muntin_engine.errors import StateError
from muntin_engine.plan import Plan
from muntin_engine.sinks.addresses import is_elsewhere, local_path
from muntin_engine.state.bucket_state import BucketQuery, query_and_progress
from muntin_engine.state.cells import METADATA, Origin, split, unseal
from muntin_engine.state.codec import Codec
from muntin_engine.state.idle_note import IDLE, IdleNote
from muntin_engine.time.changes import Progress
from muntin_engine.time.inputs_progress import furthest_progress
from muntin_engine.wire.bucket_ids import bucket_ids, murmur3

_PLAIN_PATH: Final = re.compile(r"[\w./:@+=~-]*", re.ASCII)
_MOST_NAMED: Final = 8
"""The number of misplaced files that an error names."""

Buckets: TypeAlias = Sequence[Sequence[Sequence[int]]]
"""For each stateful operator, in the order in which rows pass the operators, and for each query that the operator
evaluates: the ids of the query's buckets."""


def buckets_of(plans: Sequence[Plan], names: Sequence[str]) -> Buckets:
    """Return the buckets of queries, by operator.

    Args:
        plans: The plans of the inner queries, each with an operator of its own; then those of the queries of one pass,
            which share the last operator.
        names: The names of the queries of one pass; none for a query that is written alone.
    """
    pass_size = len(names) or 1
    inner_plans = plans[:-pass_size]
    plans_of_pass = plans[-pass_size:]
    buckets_by_operator: list[list[Sequence[int]]] = [[bucket_ids(plan.buckets)] for plan in inner_plans]
    buckets_by_operator.append([bucket_ids(plan.buckets, place) for place, plan in enumerate(plans_of_pass)])
    return buckets_by_operator


class LastCommit(NamedTuple):
    """The last micro-batch that a query has committed.

    Attributes:
        query_id: Spark's id of the query.
        batch: The number of the micro-batch.
        repartitioned_batch: The same number if Spark gave the state another number of partitions in it; None if not.
        has_begun: True if all buckets of the operator that rows pass last are known to have had state. Another operator
            may read an input of its own that had no rows yet.
    """

    query_id: str
    batch: int
    repartitioned_batch: int | None
    has_begun: bool


class _StatefulOperator(NamedTuple):
    """A stateful operator of Muntin's in a checkpoint.

    Attributes:
        id: The number of the operator in Spark's plan.
        partitions: The number of partitions of its state.
    """

    id: int
    partitions: int


class _BucketOrigin(NamedTuple):
    """The partition in which the state of a bucket is, and the micro-batch that wrote the state last."""

    partition: int
    origin: Origin


class _OperatorOrigins(NamedTuple):
    """The origins of the state of an operator.

    Attributes:
        buckets: The origin of the state of each bucket, by the id of the bucket.
        idle: The notes of partitions in which no bucket was evaluated lately, by the number of the partition.
    """

    buckets: Mapping[int, _BucketOrigin]
    idle: Mapping[int, IdleNote]

    @property
    def has_origins(self) -> bool:
        """False if no state has an origin: on Spark Connect, tasks know neither their query nor their micro-batch."""
        return bool(self.idle) or any(bucket.origin.query for bucket in self.buckets.values())


class StoredState:
    """The state in a checkpoint, as it was after a micro-batch; a query may run with the checkpoint meanwhile."""

    def __init__(self, spark: SparkSession, path: str, batch: int | None = None) -> None:
        """Choose the state; nothing is read yet.

        Args:
            spark: The session that reads the state.
            path: The path of the checkpoint.
            batch: The micro-batch; None for the last one that is committed when the state is read.
        """
        self._spark = spark
        self._path = path
        self._options = {} if batch is None else {"batchId": str(batch)}
        _ = spark.streams  # in PySpark 4.1 this property starts a part of Spark that the reader of states needs

    @contextmanager
    def cells(self, operator_number: int = 0) -> Iterator[DataFrame]:
        """Lend the cells of an operator: the columns `bucket`, `name` and `data`.

        Args:
            operator_number: The number of the operator, from 0 in the order in which rows pass the operators.

        Raises:
            StateError: The cells cannot be read.
        """
        with self._readable_path() as path:
            with self._errors_as_damage():
                cells = self._cells(path, self._operators(path)[operator_number])
            # The block does more than read the cells, so its errors are not taken for damage.
            yield cells.select("key.bucket", "user_map_key.name", "user_map_value.data")

    @contextmanager
    def every_cell(self) -> Iterator[tuple[DataFrame, bool]]:
        """Lend the cells of all operators: the columns `operator`, `bucket`, `name` and `data`.

        Yields:
            The cells; and True if they can be read only within the block.

        Raises:
            StateError: The cells cannot be read.
        """
        with self._readable_path() as path, self._errors_as_damage():
            is_link = path != self._path  # it is removed after the block
            yield reduce(DataFrame.unionAll, self._by_operator(path)), is_link

    def identity_by_bucket(self) -> dict[tuple[int, int], Mapping[str, Any]]:
        """Return the identity of the query of each bucket, by the ids of the operator and of the bucket.

        Operators come in the order in which rows pass them.

        Raises:
            StateError: The state is damaged, or cannot be read.
        """
        identities: dict[tuple[int, int], Mapping[str, Any]] = {}
        with self._readable_path() as path, self._errors_as_damage():
            for cells in self._by_operator(path):
                rows = cells.where(F.col("name") == METADATA).orderBy("bucket").collect()
                for operator, bucket, name, data in rows:
                    cell = unseal(name, bytes(data), owner=f"bucket {bucket} of operator {operator}")
                    _, metadata = split(cell)  # the first part has the checksums of the other cells
                    identities[operator, bucket] = query_and_progress(metadata, Codec()).identity
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

        The buckets of a query may have several identities: after an upgrade, some buckets have state that the new
        version of the query wrote, and others still have state of the old version. The number of rows is the largest
        number of identities that a query has. A query with fewer identities has its last one in the other rows.

        Args:
            buckets: The buckets of the queries.

        Returns:
            The rows; none if the state has another number of operators, or if a query has no state.

        Raises:
            StateError: The state is damaged, or cannot be read.
        """
        identities_by_query: list[list[Mapping[str, Any]]] = []
        with self._readable_path() as path, self._errors_as_damage():
            operators = self._operators(path)
            if len(operators) != len(buckets):
                return []
            for operator, operator_buckets in zip(operators, buckets, strict=True):
                for query_buckets in operator_buckets:
                    identities_by_query.append(self._identities(path, operator, query_buckets))
        if not all(identities_by_query):
            return []  # a query has no state

        rows: list[list[Mapping[str, object]]] = []
        for row_number in range(max(map(len, identities_by_query), default=0)):
            row: list[Mapping[str, object]] = []
            for identities in identities_by_query:
                last = len(identities) - 1
                row.append(identities[min(row_number, last)])
            rows.append(row)
        return rows

    def progress(self, buckets: Buckets) -> list[Progress]:
        """Return the progress of each query, which is the progress of its furthest bucket.

        Args:
            buckets: The buckets of the queries.

        Returns:
            The progress; none if the state has another number of operators, as a query without state has no operator.

        Raises:
            StateError: The state is damaged, or cannot be read.
        """
        progress_by_query: list[Progress] = []
        with self._readable_path() as path, self._errors_as_damage():
            operators = self._operators(path)
            if len(operators) != len(buckets):
                return []
            for operator, operator_buckets in zip(operators, buckets, strict=True):
                for query_buckets in operator_buckets:
                    queries = self._queries(path, operator, query_buckets)
                    progress_by_query.append(furthest_progress(query.progress for query in queries))
        return progress_by_query

    def check_partitions(self, buckets: Buckets, commit: LastCommit) -> None:
        """Raise unless the state of each bucket is in its partition, of the query, and of the last micro-batch.

        Args:
            buckets: The buckets of the queries.
            commit: What is known of the last micro-batch that was committed.

        Raises:
            StateError: The state of a bucket is missing, in another partition, or of another query or micro-batch; the
                message names the files. Or the state cannot be read.

        Cost: the state of each query is read once.
        """
        with self._readable_path() as path, self._errors_as_damage():
            operators = self._operators(path)
            origins = [self._origins(path, operator) for operator in operators]
        if len(buckets) != len(operators):
            # Some operators are of other queries, whose buckets are not known. Then only buckets that have state are
            # checked, and a missing one is not noticed.
            buckets = [[] for _ in operators]

        misplaced: list[str] = []
        for operator, operator_buckets, operator_origins in zip(operators, buckets, origins, strict=True):
            expected_buckets = set(chain.from_iterable(operator_buckets))
            has_begun = commit.has_begun and operator == operators[-1]
            misplaced += _misplaced(operator, expected_buckets, operator_origins, commit._replace(has_begun=has_begun))
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
    def _readable_path(self) -> Iterator[str]:
        """Lend a path under which Spark can read the state: the checkpoint, or a temporary link to it.

        Spark's reader of states looks for `a%20b` if the path is `a b`. A link without such characters helps if the
        workers have the driver's disk.
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
        """True if the path has no characters that Spark's reader of states changes."""
        return _PLAIN_PATH.fullmatch(self._path) is not None

    @contextmanager
    def _errors_as_damage(self) -> Iterator[None]:
        """Raise the errors of Spark in the block as errors that say what is wrong with the state.

        Raises:
            StateError: The state cannot be read.
        """
        try:
            yield
        except (PySparkException, Py4JError) as error:
            if is_cut_off(error):
                raise  # the JVM does not answer, which says nothing of the state
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
        # Only Muntin's operators have a variable `cells`.
        with_cells = operators.where(F.col("operatorProperties").contains('"stateName":"cells"'))
        rows = with_cells.select("operatorId", "numPartitions").distinct().collect()
        muntin_operators = [_StatefulOperator(id=row.operatorId, partitions=row.numPartitions) for row in rows]
        # Spark numbers operators from the end of the plan: rows pass the one with the highest number first.
        return sorted(muntin_operators, reverse=True)

    def _cells(self, path: str, operator: _StatefulOperator) -> DataFrame:
        """Return the cells of an operator in the columns of Spark's reader: `key`, `user_map_key`, `user_map_value`."""
        reader = self._spark.read.format("statestore").options(**self._options)
        return reader.option("operatorId", operator.id).option("stateVarName", "cells").load(path)

    def _identities(self, path: str, operator: _StatefulOperator, buckets: Sequence[int]) -> list[Mapping[str, Any]]:
        """Return the identities of a query in the state of its buckets, each identity once.

        Args:
            path: The path under which Spark can read the state.
            operator: The operator that evaluates the query.
            buckets: The ids of the query's buckets.
        """
        by_text: dict[str, Mapping[str, Any]] = {}
        for query in self._queries(path, operator, buckets):
            by_text[json.dumps(query.identity, sort_keys=True)] = query.identity
        return list(by_text.values())

    def _queries(self, path: str, operator: _StatefulOperator, buckets: Sequence[int]) -> Iterator[BucketQuery]:
        """Yield the identity and the progress of a query, once for each of its buckets that has state.

        The arguments are those of `_identities`.
        """
        cells = self._cells(path, operator).where(F.col("user_map_key.name") == METADATA)
        rows = cells.where(F.col("key.bucket").isin(*buckets)).select("user_map_value.data").collect()
        for (data,) in rows:
            _, metadata = split(unseal(METADATA, bytes(data)))  # the first part has the checksums of the other cells
            yield query_and_progress(metadata, Codec())

    def _origins(self, path: str, operator: _StatefulOperator) -> _OperatorOrigins:
        """Read the origins of the state of an operator: of its buckets, and of partitions without evaluated buckets."""
        cells = self._cells(path, operator).where(F.col("user_map_key.name").isin(METADATA, IDLE))
        rows = cells.select("partition_id", "key.bucket", "user_map_key.name", "user_map_value.data").collect()
        buckets: dict[int, _BucketOrigin] = {}
        idle: dict[int, IdleNote] = {}
        for partition, bucket, name, data in rows:
            cell = unseal(name, bytes(data), owner=f"bucket {bucket} in {_folder(operator, partition)}")
            if name == IDLE:
                idle[partition] = IdleNote.of_cell(cell)
            else:
                buckets[bucket] = _BucketOrigin(partition, cell.origin)
        return _OperatorOrigins(buckets, idle)


def _folder(operator: _StatefulOperator, partition: int) -> str:
    """Return the folder in a checkpoint with the state of a partition, as messages name it."""
    return f"state/{operator.id}/{partition}"


def _misplaced(
    operator: _StatefulOperator,
    expected_buckets: set[int],
    origins: _OperatorOrigins,
    commit: LastCommit,
) -> Iterator[str]:
    """Describe the buckets of an operator whose state is not as the last micro-batch of the query left it.

    The state of such a bucket is missing, in a wrong partition, of another query, or of an earlier micro-batch.

    Args:
        operator: The operator.
        expected_buckets: The ids of the buckets that the operator must have; others in the state are checked too.
        origins: The origins of the state of the operator.
        commit: What is known of the last micro-batch that was committed, with `has_begun` for this operator.

    Yields:
        A sentence for each such bucket, which begins with the folder of a partition.
    """
    has_origins = origins.has_origins

    def may_lack(partition: int, first_missing: int) -> bool:
        """Return True if the state of a bucket in a partition may lack the micro-batches from this one on."""
        note = IdleNote.up_to(commit.batch, origins.idle.get(partition), commit.repartitioned_batch)
        return note is not None and note.explains(first_missing, has_begun=commit.has_begun)

    for bucket in sorted(expected_buckets | origins.buckets.keys()):
        home = murmur3(bucket) % operator.partitions  # as Spark's shuffle spreads its keys
        stored = origins.buckets.get(bucket)
        if stored is None:
            if not has_origins and not commit.has_begun:
                continue  # it is not known whether the bucket was ever evaluated
            if not may_lack(home, first_missing=0):
                yield f"{_folder(operator, home)} lacks the state of bucket {bucket}"
            continue

        partition = stored.partition
        origin = stored.origin
        folder = _folder(operator, partition)
        if partition != home:
            yield f"{folder} has the state of bucket {bucket}, of {_folder(operator, home)}"
        elif not has_origins:
            continue  # nothing more can be checked
        elif (origin.query, origin.bucket) != (commit.query_id, bucket):
            yield f"{folder} has the state {origin}, as that of bucket {bucket} of {commit.query_id}"
        elif origin.batch != commit.batch and not may_lack(partition, origin.batch + 1):
            yield f"{folder} has the state {origin}, and the last one was {commit.batch}"
