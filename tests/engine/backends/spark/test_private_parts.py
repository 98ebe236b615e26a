"""The private parts of PySpark are in one file, by name, and the PySpark that is installed has each of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from inspect import getsource
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

import muntin_engine
from muntin_engine.backends.spark import private_parts

FOLDER = Path(muntin_engine.__file__).parent
PUBLIC_NAMES = {"_replace", "_asdict", "_fields", "_make"}
"""The names of a named tuple that begin with an underscore and are public."""
OWN_OBJECTS = {"self", "cls", "other"}
"""How a method calls objects of its own class, whose private attributes it may read."""


def private_names(path: Path) -> Iterator[str]:
    """Yield each private attribute that a file reads of an object of another file, except those of named tuples."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))

    # A file may read what it defines itself: its functions, and the attributes that its methods set.
    names_of_this_file = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    read_attributes: list[ast.Attribute] = []
    for node in nodes:
        if not isinstance(node, ast.Attribute) or not is_private(node.attr):
            continue
        owner = node.value.id if isinstance(node.value, ast.Name) else ""
        if owner not in OWN_OBJECTS:
            read_attributes.append(node)
        elif isinstance(node.ctx, ast.Store):
            names_of_this_file.add(node.attr)

    for attribute in read_attributes:
        if attribute.attr not in names_of_this_file:
            yield f"{path.name}:{attribute.lineno} takes {attribute.attr}"


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC_NAMES


def test_only_one_file_takes_private_parts_of_pyspark() -> None:
    private_attributes: list[str] = []
    for path in sorted((FOLDER / "backends" / "spark").rglob("*.py")):
        if path.name != "private_parts.py":
            private_attributes += private_names(path)
    assert private_attributes == []


def test_a_classic_session_has_the_private_parts(spark: SparkSession) -> None:
    df = spark.range(1)
    assert private_parts.has_java_context(spark)
    assert private_parts.jvm_of(spark) is private_parts.jvm() is not None
    assert private_parts.java_configuration(spark).get("spark.app.name")
    assert len(private_parts.java_session_id(spark)) == 36
    assert "Range" in private_parts.analyzed_plan(df)
    assert private_parts.active_context() is spark.sparkContext
    assert private_parts.gateway().proc.poll() is None


@pytest.mark.parametrize(
    ("owner", "names"),
    [
        (StatefulProcessorHandle, ["_statefulProcessorApiClient"]),
        (StreamingQuery, ["_jsq"]),
        (SparkSession, ["_instantiatedSession", "_activeSession", "_jsparkSession"]),
    ],
)
def test_a_class_of_pyspark_has_the_private_names_that_are_used(owner: type, names: list[str]) -> None:
    source = getsource(owner)
    assert [name for name in names if name not in source] == []


def test_the_cause_of_an_error_is_the_one_in_the_jvm_before_that_of_python() -> None:
    error = ValueError("of the driver")
    error.__cause__ = OSError("of Python")
    assert private_parts.cause_of(error) is error.__cause__

    cause_in_jvm = KeyError("of the JVM")
    private_parts.set_cause(error, cause_in_jvm)
    assert private_parts.cause_of(error) is cause_in_jvm
