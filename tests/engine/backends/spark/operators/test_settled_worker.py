"""A session is made ready for queries, and what PySpark does around a task does not grow."""

from __future__ import annotations

import gc
import importlib
import sys
import weakref
import zipimport
from collections.abc import Iterable, Iterator
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from muntin_engine import prepare_session, spark_session
from muntin_engine.backends.spark.operators.settled_worker import _TASKS_PER_LOOK, FrozenState

STATE_STORE = "spark.sql.streaming.stateStore"
PROVIDER = f"{STATE_STORE}.providerClass"
CHANGELOG = f"{STATE_STORE}.rocksdb.changelogCheckpointing.enabled"
PARTITIONS = "spark.sql.shuffle.partitions"
ARROW = "spark.sql.execution.arrow.maxRecordsPerBatch"
HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"


@pytest.fixture
def foreign(spark: SparkSession) -> SparkSession:
    """A session of the same Spark, in which nothing was set for queries."""
    session = spark.newSession()
    for key in (PROVIDER, CHANGELOG, PARTITIONS, ARROW):
        session.conf.unset(key)
    return session


def settings(spark: SparkSession) -> list[str | None]:
    """Return the state store, whether it writes changelogs, the partitions and the rows of a batch of Arrow."""
    return [spark.conf.get(key, None) for key in (PROVIDER, CHANGELOG, PARTITIONS, ARROW)]


def test_what_queries_need_is_set_where_nothing_was(foreign: SparkSession) -> None:
    assert settings(foreign) == [None, None, None, None]

    assert prepare_session(foreign) is foreign

    provider, *other_settings = settings(foreign)
    assert provider is not None
    assert provider.endswith(".RocksDBStateStoreProvider")
    assert other_settings == ["true", "16", "100000"]


def test_what_was_set_stays(foreign: SparkSession) -> None:
    for key, value in ((CHANGELOG, "false"), (PARTITIONS, "7"), (ARROW, "5000")):
        foreign.conf.set(key, value)

    assert settings(prepare_session(foreign))[1:] == ["false", "7", "5000"]


def test_a_state_store_that_queries_cannot_use_is_replaced_and_another_rocksdb_stays(foreign: SparkSession) -> None:
    foreign.conf.set(PROVIDER, HDFS)
    assert prepare_session(foreign).conf.get(PROVIDER) != HDFS

    foreign.conf.set(PROVIDER, "example.TunedRocksDBStateStoreProvider")
    assert prepare_session(foreign).conf.get(PROVIDER) == "example.TunedRocksDBStateStoreProvider"


@pytest.mark.parametrize(
    ("master", "python_variable", "session_python", "expected_python"),
    [
        ("local[2]", None, "python3", sys.executable),
        ("local", None, "python3", sys.executable),
        ("local[2]", "python3", "python3", "python3"),
        ("local[2]", None, "/opt/python", "/opt/python"),
        ("local-cluster[2,1,1024]", None, "python3", "python3"),
        ("spark://far:7077", None, "python3", "python3"),
    ],
)
def test_workers_on_this_machine_run_this_python_unless_they_were_given_one(
    foreign: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    master: str,
    python_variable: str | None,
    session_python: str,
    expected_python: str,
) -> None:
    context = foreign.sparkContext
    monkeypatch.setattr(context, "master", master)
    monkeypatch.setattr(context, "pythonExec", session_python)
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    if python_variable is not None:
        monkeypatch.setenv("PYSPARK_PYTHON", python_variable)
    prepare_session(foreign)
    assert context.pythonExec == expected_python


def test_a_program_gets_the_session_that_runs_with_the_name_it_has(spark: SparkSession) -> None:
    assert spark_session("another").sparkContext is spark.sparkContext
    assert spark.conf.get("spark.app.name") == "muntin tests"


# What PySpark does around every task of a worker does not grow with what the worker has imported.


def measure_worker(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Do on a worker what PySpark does around a task.

    Returns:
        One row, with the number of archives of Spark that were read, and of objects that a garbage collection visits.
    """
    read_archives: list[str] = []
    read_directory: Any = zipimport._read_directory  # type: ignore[attr-defined]

    def read_and_note(archive: str) -> Any:
        read_archives.append(archive)
        return read_directory(archive)

    with patch.object(zipimport, "_read_directory", read_and_note):
        importlib.invalidate_caches()
    object_count = sum(len(gc.get_objects(generation)) for generation in range(3))
    assert sum(map(len, batches)) == 1
    spark_names = ("pyspark.zip", "py4j", "spark-core")
    spark_archives = [archive for archive in read_archives if any(name in archive for name in spark_names)]
    yield pa.RecordBatch.from_pydict({"archives": [len(spark_archives)], "objects": [object_count]})


def test_a_task_of_a_worker_neither_reads_imported_archives_nor_visits_older_objects_again(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Another environment gives the task a new worker: one that is reused holds what tasks of other tests left in it.
    monkeypatch.setitem(spark.sparkContext.environment, "MUNTIN_TEST_OF", "a new worker")
    (row,) = spark.range(0, 1, 1, 1).mapInArrow(measure_worker, "archives long, objects long").collect()
    assert row["archives"] <= 4  # those of packages that only the worker imports; else 18
    assert row["objects"] < 50_000  # else 114,000


class Node:
    """An object that may refer to itself."""

    def __init__(self) -> None:
        self.itself: Node | None = None


@pytest.fixture
def unfrozen() -> Iterator[None]:
    """Let the collector see all objects of this process again."""
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("unfrozen")
def test_state_that_a_task_leaves_is_not_visited_by_collections_and_is_freed_when_it_is_dropped() -> None:
    state: list[Node] = [Node() for _ in range(100)]
    FrozenState().end_task()
    visited_ids = {id(visited) for visited in gc.get_objects()}
    assert not any(id(node) in visited_ids for node in state)

    last_node = weakref.ref(state[-1])
    state.clear()
    assert last_node() is None


@pytest.mark.usefixtures("unfrozen")
def test_cycles_in_the_state_of_modules_are_collected_when_frozen_objects_have_doubled() -> None:
    frozen_state = FrozenState()

    def end_tasks_up_to_the_next_look() -> None:
        for _ in range(_TASKS_PER_LOOK):
            frozen_state.end_task()

    end_tasks_up_to_the_next_look()  # the first look collects, whatever there is

    module_state = Node()
    module_state.itself = module_state
    node_in_a_cycle = weakref.ref(module_state)
    frozen_state.end_task()
    del module_state  # it is frozen by now
    end_tasks_up_to_the_next_look()
    assert node_in_a_cycle() is not None  # one object more is not worth a visit of all

    more_state = [Node() for _ in range(2 * gc.get_freeze_count())]
    end_tasks_up_to_the_next_look()
    assert len(more_state) > 0  # which keeps it alive up to here
    assert node_in_a_cycle() is None
