"""What Muntin does and refuses while a file of a declarative pipeline is read."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from pyspark.errors import AnalysisException

import muntin_stats as stats
from muntin import correct, tumbling
from muntin.errors import QueryError
from muntin_engine import EventStream, Query, SetupError, events, prepare_session
from muntin_engine.backends.spark.private_parts import connect_relation
from muntin_engine.backends.spark.session.declarative_pipelines import is_in_pipeline, without_schema
from muntin_engine.backends.spark.session.ended import in_session
from muntin_engine.backends.spark.session.sent_plans import reads_of
from tests.engine.backends.spark.silent_server import PROVIDER, SilentSession, silent

__all__ = ["silent"]


class ServerError(AnalysisException):
    """An error as a server of Spark Connect sends it."""

    def __init__(self, condition: str, **parameters: str) -> None:
        super().__init__(condition)
        self._condition = condition
        self._parameters = parameters

    def getCondition(self) -> str:
        return self._condition

    def getMessageParameters(self) -> dict[str, str]:
        return self._parameters


@pytest.fixture
def pipeline() -> Iterator[None]:
    """Let a test run as if it stood in a file of a pipeline that is being read."""
    pytest.importorskip("grpc")
    from pyspark.pipelines.graph_element_registry import GraphElementRegistry, graph_element_registration_context

    class Registry(GraphElementRegistry):
        """Takes nothing."""

    Registry.__abstractmethods__ = frozenset()
    with graph_element_registration_context(Registry()):  # type: ignore[abstract]
        yield


def rides_of(silent: SilentSession) -> EventStream:
    rides = silent.spark.readStream.table("rides")
    schema = "station string, at timestamp, km double"
    return events(rides, key="station", at="at", watermark="1 hour", late_policy=correct("1 hour"), schema=schema)


def query_of(silent: SilentSession) -> Query:
    return rides_of(silent).window(tumbling("1 hour")).aggregate(km=stats.sum("km"))


def tables_of(query: Query) -> list[str]:
    """Return the tables that the plan of a query reads, each as often as it names it."""
    return [read.named_table.unparsed_identifier for read in reads_of(connect_relation(query.results()))]


def test_outside_of_a_pipeline_a_query_names_its_table_once(silent: SilentSession) -> None:
    assert not is_in_pipeline()
    assert tables_of(query_of(silent)) == ["rides"]


@pytest.mark.usefixtures("pipeline")
def test_in_a_pipeline_a_query_with_state_names_its_table_above_the_state_too(silent: SilentSession) -> None:
    assert is_in_pipeline()
    assert tables_of(query_of(silent)) == ["rides", "rides"]
    assert silent.questions == []


@pytest.mark.usefixtures("pipeline")
def test_in_a_pipeline_a_query_without_state_names_its_table_once(silent: SilentSession) -> None:
    points = events(silent.spark.readStream.table("rides"), at="at", schema="at timestamp, km double")
    assert tables_of(points.where("km > 2").to_query()) == ["rides"]
    assert silent.questions == []


@pytest.mark.usefixtures("pipeline")
def test_a_session_of_a_pipeline_is_left_as_it_is_and_one_that_will_not_do_is_refused(
    silent: SilentSession, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "muntin.session"):
        assert prepare_session(silent.spark) is silent.spark
    assert not caplog.messages

    silent.settings[PROVIDER] = "HDFSBackedStateStoreProvider"
    with pytest.raises(SetupError, match=r"add to spark-pipeline\.yml:\n  configuration:\n    spark.sql.streaming"):
        query_of(silent).results()


@pytest.mark.usefixtures("pipeline")
def test_calls_that_have_no_place_in_a_pipeline_are_refused_and_rejected_rows_are_not(silent: SilentSession) -> None:
    query = query_of(silent)
    with pytest.raises(QueryError, match=r"write\(\) has no place in a declarative pipeline(.|\n)*@dp.append_flow"):
        query.write(checkpoint="checkpoint", results="results")
    with pytest.raises(QueryError, match=r"late_rows\(\) has no place .*(.|\n)*late_policy=correct"):
        query.late_rows()
    with pytest.raises(QueryError, match=r"with_clock\(\) has no place"):
        rides_of(silent).with_clock()
    with pytest.raises(QueryError, match=r"close_checkpoint\(\) has no place"):
        query.close_checkpoint("checkpoint", results="results")
    query.rejected_rows()
    assert silent.questions == []


@pytest.mark.usefixtures("pipeline")
def test_questions_that_spark_does_not_answer_in_a_pipeline_become_errors_with_advice() -> None:
    advice = r"does not tell the columns .*\n  say what they are: events\(..., schema="
    with pytest.raises(QueryError, match=advice), in_session():
        raise ServerError("ATTEMPT_ANALYSIS_IN_PIPELINE_QUERY_FUNCTION")
    with pytest.raises(QueryError, match=r"the table `rides` does not exist: those of this pipeline"), in_session():
        raise ServerError("TABLE_OR_VIEW_NOT_FOUND", relationName="`rides`")


def test_other_errors_of_spark_stay_as_they_are() -> None:
    assert without_schema(ServerError("DUPLICATED_METRICS_NAME")) is None
    with pytest.raises(ServerError), in_session():
        raise ServerError("TABLE_OR_VIEW_NOT_FOUND", relationName="`rides`")
