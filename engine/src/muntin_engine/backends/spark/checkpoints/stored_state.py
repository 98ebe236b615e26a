"""The state in a checkpoint, read by Spark's own reader while no query runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
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
from muntin_engine.state.bucket_state import query_of
from muntin_engine.state.cells import METADATA, Origin, split, unseal
from muntin_engine.state.codec import Codec
from muntin_engine.time.changes import Progress
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.wire.bucket_ids import bucket_ids, murmur3

_PLAIN_PATH: Final = re.compile(r"[\w./:@+=~-]*", re.ASCII)
_MOST_TOLD: Final = 8

Buckets: TypeAlias = Sequence[Sequence[Sequence[int]]]
"""The ids of the buckets of each query, by the stateful operator that evaluates it, in the order of the rows."""


def buckets_of(plans: Sequence[Plan], names: Sequence[str]) -> Buckets:
    """Return the buckets of queries: those of a pass, which have names, share the last operator."""
    inner, asked = plans[: len(plans) - (len(names) or 1)], plans[-(len(names) or 1) :]
    of_pass = [bucket_ids(plan.buckets, place) for place, plan in enumerate(asked)]
    return [*([bucket_ids(plan.buckets)] for plan in inner), of_pass]


class _StatefulOperator(NamedTuple):
    """A stateful operator of Muntin's in a checkpoint."""

    id: int
    partitions: int


class StoredState:
    """The state in a checkpoint, as it was after a micro-batch: its query may run and go on."""

    def __init__(self, spark: SparkSession, path: str, batch: int | None = None) -> None:
        """Take a checkpoint.

        Args:
            spark: The session that reads it.
            path: The checkpoint.
            batch: The micro-batch; None for the last one that is committed when the state is read.
        """
        self._spark = spark
        self._path = path
        self._options = {} if batch is None else {"batchId": str(batch)}
        _ = spark.streams  # in PySpark 4.1 this starts what its reader of states asks for

    @contextmanager
    def cells(self, place: int = 0) -> Iterator[DataFrame]:
        """Lend the cells of a query in it: the columns `bucket`, `name` and `data`.

        Args:
            place: The place of its operator, in the order of the rows.

        Raises:
            StateError: They cannot be read.
        """
        with self._readable() as path:
            with self._reading():
                cells = self._cells(path, self._operators(path)[place])
            yield cells.select("key.bucket", "user_map_key.name", "user_map_value.data")

    @contextmanager
    def every_cell(self) -> Iterator[tuple[DataFrame, bool]]:
        """Lend the cells of all queries in it, and whether they can be read only as long as they are lent.

        The columns are `operator`, `bucket`, `name` and `data`.

        Raises:
            StateError: They cannot be read.
        """
        with self._readable() as path, self._reading():
            yield reduce(DataFrame.unionAll, self._by_operator(path)), path != self._path

    def by_bucket(self) -> dict[tuple[int, int], Mapping[str, Any]]:
        """Return the identity of the query in each bucket, by its operator and its id, in the order of the rows.

        Raises:
            StateError: It is damaged, or cannot be read.
        """
        found: dict[tuple[int, int], Mapping[str, Any]] = {}
        with self._readable() as path, self._reading():
            for cells in self._by_operator(path):
                rows = cells.where(F.col("name") == METADATA).orderBy("bucket").collect()
                for operator, bucket, name, data in rows:
                    metadata = split(unseal(name, bytes(data), f"bucket {bucket} of operator {operator}"))[1]
                    found[operator, bucket] = query_of(metadata, Codec())[0]
        return found

    def _by_operator(self, path: str) -> list[DataFrame]:
        columns = ("key.bucket", "user_map_key.name", "user_map_value.data")
        return [
            self._cells(path, operator).select(F.lit(operator.id).alias("operator"), *columns)
            for operator in self._operators(path)
        ]

    def identities(self, buckets: Buckets) -> list[list[Mapping[str, object]]]:
        """Return the identities in it, for each query those of its buckets; none if there are other operators.

        Raises:
            StateError: It is damaged, or cannot be read.
        """
        with self._readable() as path, self._reading():
            operators = self._operators(path)
            if len(operators) != len(buckets):
                return []
            found = [
                self._identities(path, operator, own)
                for operator, asked in zip(operators, buckets, strict=True)
                for own in asked
            ]
        most = max(map(len, found), default=0)
        return [[some[min(place, len(some) - 1)] for some in found] for place in range(most)] if all(found) else []

    def progress(self, buckets: Buckets) -> list[Progress]:
        """Return how far each query is that has buckets in it.

        Raises:
            StateError: It is damaged, or cannot be read.
        """
        with self._readable() as path, self._reading():
            pairs = zip(self._operators(path), buckets, strict=True)
            of_queries = [(path, operator, own) for operator, asked in pairs for own in asked]
            told = [[InputsProgress.from_data(data) for _, data in self._queries(*one) if data] for one in of_queries]
        return [max((some.least for some in known), key=Progress.to_data, default=Progress()) for known in told]

    def check_places(self, buckets: Buckets, query_id: str, last: int | None) -> None:
        """Raise unless the state of each bucket is in its partition, of the query, and of the last micro-batch.

        Args:
            buckets: The buckets of the queries.
            query_id: The id of the query, as Spark keeps it in the checkpoint.
            last: The last micro-batch that was committed; None if a bucket may be of an earlier one.

        Raises:
            StateError: It is not, or cannot be read; with all that is elsewhere, file by file.

        Cost: the state of each query is read once.
        """
        with self._readable() as path, self._reading():
            operators = self._operators(path)
            found = [self._origins(path, operator) for operator in operators]
        wanted: Buckets = buckets if len(buckets) == len(operators) else [[]] * len(operators)
        told: list[str] = []
        for operator, asked, origins in zip(operators, wanted, found, strict=True):
            told += _misplaced(operator, {bucket for own in asked for bucket in own}, origins, query_id, last)
        if told:
            more = [f"and {len(told) - _MOST_TOLD} more"] if len(told) > _MOST_TOLD else []
            raise StateError(
                "\n  ".join(
                    [
                        f"files of the state in the checkpoint {self._path} are gone, or in the place of others",
                        *told[:_MOST_TOLD],
                        *more,
                        "put back all files of the checkpoint as they were at one time, or start with a new checkpoint",
                    ]
                )
            )

    @contextmanager
    def _readable(self) -> Iterator[str]:
        """Lend a path under which Spark can read the state.

        Its reader of states looks for `a%20b` where a path is `a b`. Where the driver's disk is the workers' as well,
        another name for the folder helps.
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
        """Say what it means that the state cannot be read.

        Raises:
            StateError: It cannot.
        """
        try:
            yield
        except (PySparkException, Py4JError) as error:
            if is_cut_off(error):
                raise
            damage = damage_of(self._spark, self._path)
            if damage is not None:
                raise damage from error
            odd = "  Spark reads no state where a path has spaces, accents or other such characters\n"
            advice = "" if self._has_plain_path else odd
            raise StateError(
                f"the state in the checkpoint {self._path} cannot be read: {root_cause(error)}\n{advice}"
                "  expected: all files of a checkpoint in which a micro-batch was committed, as Spark wrote them\n"
                "  restore them from a copy, or start the query with a new checkpoint"
            ) from error

    def _operators(self, path: str) -> list[_StatefulOperator]:
        """Return the stateful operators that are queries of Muntin's, the first one that rows come through first."""
        operators = self._spark.read.format("state-metadata").options(**self._options).load(path)
        ours = operators.where(F.col("operatorProperties").contains('"stateName":"cells"'))
        rows = ours.select("operatorId", "numPartitions").distinct().collect()
        return sorted((_StatefulOperator(*row) for row in rows), reverse=True)

    def _cells(self, path: str, operator: _StatefulOperator) -> DataFrame:
        reader = self._spark.read.format("statestore").options(**self._options)
        return reader.option("operatorId", operator.id).option("stateVarName", "cells").load(path)

    def _identities(self, path: str, operator: _StatefulOperator, buckets: Sequence[int]) -> list[Mapping[str, Any]]:
        """Return the identities of the queries in some buckets of an operator."""
        return [*{json.dumps(one, sort_keys=True): one for one, _ in self._queries(path, operator, buckets)}.values()]

    def _queries(
        self, path: str, operator: _StatefulOperator, buckets: Sequence[int]
    ) -> Iterator[tuple[Mapping[str, Any], Sequence[Any]]]:
        """Yield the identity of the query in each of some buckets of an operator, and the data of its progress."""
        cells = self._cells(path, operator).where(F.col("user_map_key.name") == METADATA)
        for row in cells.where(F.col("key.bucket").isin(*buckets)).select("user_map_value.data").collect():
            yield query_of(split(unseal(METADATA, bytes(row[0])))[1], Codec())

    def _origins(self, path: str, operator: _StatefulOperator) -> list[tuple[int, int, Origin, int]]:
        """Return the partition, the bucket and the origin of all metadata, and since when partitions are idle."""
        cells = self._cells(path, operator).where(F.col("user_map_key.name").isin(METADATA, IDLE))
        found = []
        for partition, bucket, name, data in cells.select(
            "partition_id", "key.bucket", "user_map_key.name", "user_map_value.data"
        ).collect():
            cell = unseal(name, bytes(data), f"bucket {bucket} in {_folder(operator, partition)}")
            found.append((partition, bucket, cell.origin, int(cell.data) if name == IDLE else -1))
        return found


def _folder(operator: _StatefulOperator, partition: int) -> str:
    return f"state/{operator.id}/{partition}"


def _misplaced(
    operator: _StatefulOperator,
    buckets: set[int],
    origins: Sequence[tuple[int, int, Origin, int]],
    query_id: str,
    last: int | None,
) -> Iterator[str]:
    """Say what is wrong with the metadata that there are of an operator, and with those that there are not."""
    idle = {partition: (since, origin.batch) for partition, _, origin, since in origins if since >= 0}
    known = {bucket: (partition, origin) for partition, bucket, origin, since in origins if since < 0}
    # On Spark Connect tasks do not know their query and micro-batch: cells have no origin, and nothing notes idleness.
    is_dated = any(origin.query for _, origin in known.values()) or bool(idle)
    for bucket in sorted(buckets | known.keys()):
        home = murmur3(bucket) % operator.partitions
        partition, origin = known.get(bucket, (home, Origin()))
        since, until = idle.get(partition, (0, -1))
        if bucket not in known:
            if is_dated and last is not None and (since, until) != (0, last):
                yield f"{_folder(operator, home)} lacks the state of bucket {bucket}"
        elif partition != home:
            yield f"{_folder(operator, partition)} has the state of bucket {bucket}, of {_folder(operator, home)}"
        elif not is_dated:
            continue
        elif (origin.query, origin.bucket) != (query_id, bucket):
            yield f"{_folder(operator, partition)} has the state {origin}, as that of bucket {bucket} of {query_id}"
        elif last is not None and origin.batch != last and not (since <= origin.batch + 1 and until == last):
            yield f"{_folder(operator, partition)} has the state {origin}, and the last one was {last}"
