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


def test_a_state_store_that_would_not_do_does_not_stay_and_one_that_would_does(foreign: SparkSession) -> None:
    foreign.conf.set(PROVIDER, HDFS)
    assert settings(prepare_session(foreign))[0] != HDFS

    foreign.conf.set(PROVIDER, "example.TunedRocksDBStateStoreProvider")
    assert settings(prepare_session(foreign))[0] == "example.TunedRocksDBStateStoreProvider"


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


def look_around(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Do before and after a task what PySpark does, and tell what it went through."""
    read: list[str] = []
    really: Any = zipimport._read_directory  # type: ignore[attr-defined]

    def reading(archive: str) -> Any:
        read.append(archive)
        return really(archive)

    with patch.object(zipimport, "_read_directory", reading):
        importlib.invalidate_caches()
    walked = sum(map(len, (gc.get_objects(generation) for generation in range(3))))
    assert sum(map(len, batches)) == 1
    names = [name for name in read if "pyspark.zip" in name or "py4j" in name or "spark-core" in name]
    yield pa.RecordBatch.from_pydict({"walked": [walked], "read": [len(names)]})


def test_neither_imports_nor_objects_of_before_are_gone_through_again(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Another environment gives the task a new worker: one that is reused holds what tasks of other tests left in it.
    monkeypatch.setitem(spark.sparkContext.environment, "MUNTIN_TEST_OF", "a new worker")
    rows = spark.range(0, 1, 1, 1).mapInArrow(look_around, "walked long, read long").collect()

    assert len(rows) == 1
    for row in rows:
        assert row["read"] <= 4  # packages that only the worker imports; 18 before
        assert row["walked"] < 50_000  # 114,000 before


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
def test_state_that_a_task_leaves_is_not_walked_over_and_is_freed_when_it_is_dropped() -> None:
    state: list[Node] = [Node() for _ in range(100)]
    FrozenState().end_task()
    walked_over = set(map(id, gc.get_objects()))
    assert not walked_over.intersection(map(id, state))

    last_node = weakref.ref(state[-1])
    state.clear()
    assert last_node() is None


@pytest.mark.usefixtures("unfrozen")
def test_cycles_of_modules_are_collected_when_frozen_objects_have_doubled() -> None:
    frozen_state = FrozenState()
    for _ in range(_TASKS_PER_LOOK):  # the first look collects, whatever there is
        frozen_state.end_task()

    module_state = Node()
    module_state.itself = module_state
    in_a_cycle = weakref.ref(module_state)
    frozen_state.end_task()
    del module_state  # it is frozen by now
    for _ in range(_TASKS_PER_LOOK):
        frozen_state.end_task()
    assert in_a_cycle() is not None  # one object more is not worth a walk over all

    growth = [Node() for _ in range(2 * gc.get_freeze_count())]
    for _ in range(_TASKS_PER_LOOK):
        frozen_state.end_task()
    assert len(growth) > 0
    assert in_a_cycle() is None
