"""`python -m tests.engine.backends.spark.client_alone SERVER CLIENT`: query a server from a client without Spark.

The server runs on one Python; the client is another with `pyspark-client` alone: no py4j, no JVM. Its answers are
compared with what was worked out by hand. `make test-versions VERSIONS=client` runs it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import walk_packages
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from muntin import Aggregate, tumbling
from tests.engine.backends.spark.connect_server import answers_over_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from muntin_engine import Query

_THIS: Final = "tests.engine.backends.spark.client_alone"

# key, at, x
_FIRST: Final = [("a", 1, 2.0), ("a", 5, 4.0), ("b", 5, 1.0), ("a", 12, 8.0)]
_SECOND: Final = [("a", 2, 100.0), ("b", 14, 3.0), ("a", 40, 1.0)]

# key, start, count, sum
_BOTH_RUNS: Final = [["a", 0, 2, 6.0], ["a", 10, 1, 8.0], ["b", 0, 1, 1.0], ["b", 10, 1, 3.0]]

EXPECTED: Final[dict[str, Any]] = {
    "has Spark": False,
    "modules that cannot be imported": [],
    "the session that runs is found": True,
    "a local session": "SetupError: Spark cannot be started here: pyspark-client is installed",
    # [0, 10) has a at 1 and 5, and b at 5; [10, 20) has a at 12.
    "static": [["a", 0, 2, 6.0], ["a", 10, 1, 8.0], ["b", 0, 1, 1.0]],
    "sql": [["a", 0, 2, 6.0], ["a", 10, 1, 8.0], ["b", 0, 1, 1.0]],
    # The newest start of the first file is 12, which closes [0, 10).
    "first run": [["a", 0, 2, 6.0], ["b", 0, 1, 1.0]],
    "what changed before the second run": [],
    # The row at 2 is late; the one at 40 closes [10, 20).
    "second run": _BOTH_RUNS,
    "late": [{"key": "a", "at": 2, "x": 100.0}],
    "accepted rows": [[4], [2]],
    "the query of the checkpoint": {"events": "input", "key": "key", "at": "at", "watermark": 0},
    "has state": True,
    "a failure": "muntin.errors.ModuleFailedError: client.level 1.0.0 failed in compute_result: ValueError: no level",
    "another query": "StateMismatchError",
    "where persist and settings are refused": _BOTH_RUNS,
    "what it stores in the place of persist": ["bucket", "place", "stream", "rows", "data", "totals"],
}
"""The client's answers, with the beginning of each message."""


class Level(Aggregate[float, float]):
    """Refuses a level of eight."""

    name, version = "client.level", "1.0.0"

    def compute_result(self, payloads: Sequence[float]) -> float:
        """Return the highest level."""
        if 8.0 in payloads:
            raise ValueError("no level of 8.0")
        return max(payloads)


def main(server: str, client: str) -> int:
    """Return 1 if an answer of the client is not the one that was worked out by hand."""
    wrong = wrong_answers(answers_of_client(server, client))
    print("a client without Spark:", wrong or f"{len(EXPECTED)} answers as worked out by hand")
    return bool(wrong)


def answers_of_client(server: str, client: str, *, feigns: bool = False) -> dict[str, Any]:
    """Return the answers of a client that is served by another Python.

    Args:
        server: The Python of the server.
        client: The Python of the client.
        feigns: True if the client has Spark, and is to do as if it had not.
    """
    with TemporaryDirectory() as folder:
        answers = answers_over_connect(server, folder, client, _THIS, "feign" if feigns else "ask", folder)
    del answers["server"]  # its version
    return answers


def wrong_answers(answers: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return each wrong answer with the expected one, by its question; a message must begin as expected."""
    wrong: dict[str, tuple[Any, Any]] = {}
    for question in EXPECTED.keys() | answers.keys():
        answer = answers.get(question)
        expected = EXPECTED.get(question)
        if isinstance(expected, str):
            is_right = isinstance(answer, str) and answer.startswith(expected)
        else:
            is_right = answer == expected
        if not is_right:
            wrong[question] = (answer, expected)
    return wrong


def feign_to_have_no_spark() -> None:
    """Make this process see of PySpark what `pyspark-client` has of it."""
    assert "pyspark" not in sys.modules
    missing: dict[str, Any] = dict.fromkeys(("py4j", "pyspark.core", "pyspark.sql.classic"))
    sys.modules.update(missing)


def ask(folder: Path, address: str) -> dict[str, Any]:
    """Query a server in several ways, and return the answers by their questions."""
    from pyspark.sql import SparkSession

    from muntin_engine import events, local_session, module, read_query, read_state, root_cause, spark_session, sql
    from muntin_engine.monitoring import batch_metrics

    def rides(rows: Sequence[tuple[str, int, float]]) -> DataFrame:
        return spark.createDataFrame(list(rows), "key string, at long, x double").coalesce(1)

    def totals(df: DataFrame) -> Query:
        windows = events(df, key="key", at="at", watermark=0).window(tumbling(10))
        return windows.aggregate(n=module("stats.count"), total=module("stats.sum", "x"))

    answers: dict[str, Any] = {}

    # What the client has, and which sessions it finds.
    spark = SparkSession.builder.remote(address).getOrCreate()
    answers["has Spark"] = find_spec("py4j") is not None or find_spec("pyspark.core") is not None
    answers["modules that cannot be imported"] = _cannot_be_imported()
    answers["the session that runs is found"] = spark_session() is spark
    answers["a local session"] = _refused(local_session)

    # Static queries, by calls and in SQL.
    first_rides = rides(_FIRST)
    answers["static"] = _rows(totals(first_rides).results())
    text = """
        SELECT key, window_start, COUNT(*) AS n, SUM(x) AS total
        FROM TUMBLE(TABLE rides, DESCRIPTOR(at), 10) GROUP BY key, window_start, window_end
    """
    sql_rows = sql(spark, text, rides=first_rides).results().collect()
    answers["sql"] = sorted(list(row) for row in sql_rows)

    # A streaming query that is started twice, with a file more the second time.
    first_rides.write.parquet(f"{folder}/input")
    stream = spark.readStream.schema(first_rides.schema).option("maxFilesPerTrigger", 1).parquet(f"{folder}/input")
    query = totals(stream)
    checkpoint = f"{folder}/checkpoint"
    sinks = {"results": f"{folder}/results", "late_rows": f"{folder}/late"}
    accepted_rows: list[list[int]] = []

    def run() -> list[list[Any]]:
        """Run the query until its input is read, note how many rows it accepted, and return all results so far."""
        running = query.write(checkpoint=checkpoint, **sinks, available_now=True)
        running.awaitTermination()
        progresses = [batch_metrics(progress)["muntin"] for progress in running.recentProgress]
        accepted_rows.append([progress.accepted for progress in progresses if progress.accepted])
        return _rows(spark.read.parquet(sinks["results"]))

    answers["first run"] = run()
    rides(_SECOND).write.mode("append").parquet(f"{folder}/input")
    answers["what changed before the second run"] = query.check(checkpoint)
    answers["second run"] = run()
    answers["accepted rows"] = accepted_rows
    late_rows = spark.read.parquet(sinks["late_rows"]).collect()
    answers["late"] = [json.loads(row["row"]) for row in late_rows]

    # Its checkpoint.
    answers["the query of the checkpoint"] = read_query(spark, checkpoint)["query"][0]
    answers["has state"] = read_state(spark, checkpoint).count() > 0

    # A query whose module fails, which is also another query than that of the checkpoint.
    failing = events(stream, key="key", at="at", watermark=0).window(tumbling(10)).aggregate(top=module(Level, "x"))
    try:
        failing.write(checkpoint=f"{folder}/failing", results=f"{folder}/tops", available_now=True).awaitTermination()
    except Exception as error:
        answers["a failure"] = root_cause(error)
    answers["another query"] = _refused(lambda: failing.check(checkpoint))

    answers |= _answers_as_on_serverless(spark, totals(stream), folder)
    spark.stop()
    return answers


def _answers_as_on_serverless(spark: SparkSession, query: Query, folder: Path) -> dict[str, Any]:
    """Run a query in a session that refuses settings and `persist`, and return the answers about it."""
    _refuse_as_serverless_does(type(spark.conf))
    places = {"checkpoint": f"{folder}/serverless", "results": f"{folder}/serverless-results"}
    query.write(**places, available_now=True).awaitTermination()
    return {
        "where persist and settings are refused": _rows(spark.read.parquet(places["results"])),
        "what it stores in the place of persist": spark.read.parquet(f"{folder}/serverless/muntin/blobs").columns,
    }


def _refuse_as_serverless_does(conf: type) -> None:
    """Have settings refused here, and `persist` on the server, where micro-batches are written."""
    from pyspark.errors import AnalysisException

    from muntin_engine.backends.spark.foreach_batch import batch_writer, write

    def refuse(*_: object, **__: object) -> None:
        raise AnalysisException("[NOT_SUPPORTED_WITH_SERVERLESS] That is not supported on serverless compute.")

    class RefusedWriter(batch_writer.BatchWriter):
        """Makes the DataFrames of the server refuse; it travels there as a whole, since it is made in a function."""

        def __call__(self, blobs: DataFrame, batch_id: int) -> None:
            frame_class: Any = type(blobs)
            frame_class.persist = refuse
            super().__call__(blobs, batch_id)

    conf_class: Any = conf
    conf_class.set = refuse
    write_module: Any = write
    write_module.BatchWriter = RefusedWriter


def _cannot_be_imported() -> list[str]:
    """Return the modules of the engine and the command that cannot be imported here, but for want of a tester."""
    failed: list[str] = []
    for package in ("muntin_engine", "muntin_cli"):
        for module_info in walk_packages(import_module(package).__path__, f"{package}."):
            if ".template" in module_info.name or module_info.name.endswith("__main__"):
                continue
            try:
                import_module(module_info.name)
            except Exception as error:
                if getattr(error, "name", "") not in ("hypothesis", "pytest"):
                    failed.append(f"{module_info.name}: {error}")
    return failed


def _refused(call: Callable[[], object]) -> str:
    """Return how a call fails; empty if it does not."""
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _rows(df: DataFrame) -> list[list[Any]]:
    return sorted(list(row) for row in df.select("key", "window.start", "n", "total").collect())


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["ask", folder, address]:
            print(f"\n{json.dumps(ask(Path(folder), address))}")
        case ["feign", folder, address]:
            feign_to_have_no_spark()
            print(f"\n{json.dumps(ask(Path(folder), address))}")
        case [server, client]:
            sys.exit(main(server, client))
