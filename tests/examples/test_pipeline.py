"""The declarative pipeline of `examples/pipeline`: its page has its files, and Spark runs it from its checkpoint."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest

from muntin_engine.backends.spark.session.java import find_java, spark_java_home
from tests.conftest import ROOT

PROJECT: Final = ROOT / "examples/pipeline"
PAGE: Final = ROOT / "docs/how-to/declarative-pipelines.md"

PIPELINE_OF_REFUSALS: Final = """
import json
from pathlib import Path

from pyspark import pipelines as dp

import muntin_stats as stats
from muntin import tumbling
from muntin.errors import MuntinError
from muntin_engine import events, spark_session

spark = spark_session()
answers = {}


def ask(name, call):
    try:
        call()
    except MuntinError as error:
        answers[name] = str(error)


def rides_of(df, **arguments):
    return events(df, key="station", at="at", watermark=0, **arguments)


def hours_of(df, **arguments):
    return rides_of(df, **arguments).window(tumbling("1 hour")).aggregate(km=stats.count())


ask("at the top", lambda: rides_of(spark.readStream.table("rides")))
stream = spark.readStream.schema("station string, at timestamp, km double").json(str(Path("input").absolute()))
at_the_top = hours_of(stream).results()


@dp.table
def rides():
    return stream


@dp.table
def asked():
    schema = "station string, at timestamp, km double"
    ask("in a function", lambda: rides_of(spark.readStream.table("rides")))
    ask("write", lambda: hours_of(stream, schema=schema).write(checkpoint="checkpoint", results="results"))
    ask("late_rows", lambda: hours_of(stream, schema=schema).late_rows())
    Path("answers.json").write_text(json.dumps(answers))
    return at_the_top


@dp.table
def long_rides():
    rides = events(spark.readStream.table("rides"), at="at", schema="station string, at timestamp, km double")
    return rides.where("km > 2").to_query().results()


@dp.table
def declared_wrongly():
    schema = "station string, at timestamp, km bigint"
    return rides_of(stream, schema=schema).window(tumbling("1 hour")).aggregate(km=stats.sum("km")).results()
"""


def test_the_page_has_the_files_of_the_project() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in ("spark-pipeline.yml", "transformations/rides.py"):
        assert (PROJECT / name).read_text(encoding="utf-8") in page, name


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project that keeps everything in its folder."""
    folder = tmp_path / "pipeline"
    shutil.copytree(PROJECT, folder)
    definition = folder / "spark-pipeline.yml"
    text = definition.read_text(encoding="utf-8")
    assert "file:///data/rides-pipeline" in text
    definition.write_text(text.replace("file:///data/rides-pipeline", (folder / "storage").as_uri()), encoding="utf-8")
    (folder / "input").mkdir()
    return folder


def run(project: Path) -> subprocess.CompletedProcess[str]:
    """Run the pipeline of a project to the end of its input."""
    pytest.importorskip("grpc")
    environment = dict(os.environ)
    environment.pop("SPARK_HOME", None)
    environment["PYSPARK_PYTHON"] = sys.executable
    environment["JAVA_HOME"] = str(spark_java_home(find_java()))
    environment["SPARK_LOCAL_IP"] = "127.0.0.1"
    command = Path(sys.executable).with_name("spark-pipelines")
    return subprocess.run(
        [str(command), "run", "--conf", "spark.sql.catalogImplementation=hive"],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def rows(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of all files of a folder."""
    for file in sorted(folder.glob("*.parquet")):
        yield from pq.read_table(file).to_pylist()


def hours_of(project: Path) -> list[tuple[str, str, int, float]]:
    """Return the changes of the hours, sorted: station, change, number of rides, km."""
    hours = rows(project / "spark-warehouse/hourly")
    return sorted((row["station"], row["change"], row["rides"], row["km"]) for row in hours)


def arrive(project: Path, name: str) -> None:
    """Have a file of rides arrive."""
    shutil.copy(project / "days" / name, project / "input" / name)


@pytest.mark.nightly
def test_the_pipeline_goes_on_from_its_checkpoint(project: Path) -> None:
    arrive(project, "1.json")
    first_run = run(project)
    assert first_run.returncode == 0, first_run.stdout + first_run.stderr
    assert hours_of(project) == [("north", "insert", 2, 4.0), ("south", "insert", 1, 4.0)]
    assert not list(rows(project / "exported")), "no day is over"

    arrive(project, "2.json")
    second_run = run(project)
    assert second_run.returncode == 0, second_run.stdout + second_run.stderr
    assert hours_of(project) == [
        ("north", "insert", 1, 1.0),
        ("north", "insert", 1, 2.0),
        ("north", "insert", 2, 4.0),
        ("north", "insert", 3, 10.0),
        ("north", "retract", 2, 4.0),
        ("south", "insert", 1, 3.0),
        ("south", "insert", 1, 4.0),
    ]

    first_of_may = datetime(2024, 5, 1, tzinfo=UTC)
    days = []
    for row in rows(project / "exported"):
        days.append((row["station"], row["window"]["start"].replace(tzinfo=UTC), row["rides"], row["km"]))
    assert sorted(days) == [("north", first_of_may, 4, 11.0), ("south", first_of_may, 2, 7.0)]


@pytest.mark.nightly
def test_mistakes_inside_a_pipeline_are_refused_with_what_to_write(project: Path) -> None:
    (project / "transformations/rides.py").write_text(PIPELINE_OF_REFUSALS, encoding="utf-8")
    arrive(project, "1.json")
    finished = run(project)

    # The pipeline writes down the errors that it catches.
    answers = json.loads((project / "answers.json").read_text(encoding="utf-8"))
    assert "the table `rides` does not exist" in answers["at the top"]
    assert "inside a function of a declarative pipeline\n  say what they are: events(" in answers["in a function"]
    assert answers["write"].startswith("write() has no place in a declarative pipeline")
    assert answers["late_rows"].startswith("late_rows() has no place in a declarative pipeline")

    # The wrong schema of its last table stops it.
    assert finished.returncode != 0
    assert "schema= makes 'km' bigint, and in the input it is double" in finished.stdout + finished.stderr
