"""The arguments of `write` that name sinks, and the sinks that go together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from muntin.errors import QueryError
from muntin_engine import ChangelogTable, DatabaseTable, KafkaTopic, ParquetFolder, Sink
from muntin_engine.sinks.sink import SinkLike
from muntin_engine.sinks.sink_arguments import choose_sinks as choose_sinks_of


class Nowhere(Sink):
    """Takes everything and keeps nothing."""

    def write(self, batch: Any, batch_id: int) -> None:
        pass


def choose_sinks(arguments: Mapping[str, SinkLike | None], checkpoint: str | Path) -> dict[str, Sink]:
    """Return the sinks of a query that is asked alone."""
    return choose_sinks_of({"": arguments}, checkpoint)[""]


def take(batch: Any, batch_id: int) -> None:
    """Take a micro-batch."""


def test_a_path_a_function_and_a_sink_are_sinks_and_none_is_no_sink(tmp_path: Path) -> None:
    sink = Nowhere()
    sinks = choose_sinks({"results": "out", "late": take, "rejected": sink, "progress": None}, tmp_path)
    assert str(sinks["results"]) == "ParquetFolder('out')"
    assert str(sinks["late"]) == "the function take"
    assert sinks["rejected"] is sink
    assert "progress" not in sinks


@pytest.mark.parametrize(
    "function",
    [lambda: None, lambda batch: None, lambda batch, batch_id, watermark: None],
    ids=["none", "one", "three"],
)
def test_a_function_takes_a_dataframe_and_a_number(function: Any) -> None:
    refusal = r"results=the function .* cannot be called .*\n.* a Sink, whose take_watermark"
    with pytest.raises(QueryError, match=refusal):
        choose_sinks({"results": function}, "checkpoint")


def test_a_sink_says_how_often_each_row_arrives() -> None:
    sinks = choose_sinks({"results": "results", "late_rows": take, "metrics": print}, "checkpoint")
    assert sinks["results"].guarantee == "exactly once"
    assert ChangelogTable("table").guarantee == "exactly once"
    assert sinks["late_rows"].guarantee.startswith("at least once")


@pytest.mark.parametrize("argument", [7, ["out"], Nowhere, ParquetFolder])
def test_anything_else_is_refused_by_name(argument: Any) -> None:
    with pytest.raises(QueryError, match=r"results=.* is not a sink\n  expected a path"):
        choose_sinks({"results": argument}, "checkpoint")


def test_no_sink_at_all_is_refused() -> None:
    refusal = r"write\(\) needs at least one sink\n  name one for any of results, late_rows"
    with pytest.raises(QueryError, match=refusal):
        choose_sinks({"results": None, "late_rows": None}, "checkpoint")


@pytest.mark.parametrize(
    ("text", "meaning"),
    [("delta", "a format"), ("JSON", "a format"), ("mydb.t", "a table"), ("c.`my db`.t", "a table")],
)
def test_a_text_that_names_a_format_or_a_table_is_no_folder(text: str, meaning: str) -> None:
    for output in ("results", "late_rows"):
        with pytest.raises(QueryError) as caught:
            choose_sinks({output: text}, "checkpoint")
        assert f"{output}={text!r} is the name of {meaning}, and a path is expected" in str(caught.value)
        assert f"write {output}={'./' + text!r}\n" in str(caught.value)


@pytest.mark.parametrize(
    "path", ["./delta", "out.parquet", "out/t.x", "results", Path("delta"), "./my.db", "2024-05.1"]
)
def test_what_looks_like_a_path_is_one(path: str | Path) -> None:
    assert choose_sinks({"results": path}, "checkpoint")["results"].folder == Path(path).absolute()


@pytest.mark.parametrize(
    "arguments",
    [
        {"results": "out", "late": "out"},
        {"results": "out", "late": ParquetFolder("out/../out/")},
        {"results": ChangelogTable("out"), "late": "out/late"},
        {"results": "checkpoint"},
        {"results": f"file:{Path('checkpoint').absolute()}"},
        {"results": "checkpoint/results"},
    ],
    ids=[
        "one path twice",
        "two spellings of a path",
        "a folder in the folder of a table",
        "the checkpoint",
        "the checkpoint as a URL",
        "a folder in the checkpoint",
    ],
)
def test_two_outputs_or_an_output_and_the_checkpoint_in_one_folder_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(QueryError, match="lie in each other's folder"):
        choose_sinks(arguments, "checkpoint")


@pytest.mark.parametrize(
    "sink",
    [lambda: DatabaseTable("sqlite:results.db?table=bikes"), lambda: KafkaTopic("kafka://one:9092/bikes")],
    ids=["a table", "a topic"],
)
def test_two_outputs_in_one_table_or_topic_are_refused(sink: Callable[[], Sink]) -> None:
    with pytest.raises(QueryError, match=r"results and late are the same sink, (sqlite|kafka):.*bikes\n"):
        choose_sinks({"results": sink(), "late": sink()}, "checkpoint")


def test_two_outputs_in_two_tables_of_one_database_are_accepted() -> None:
    bikes = DatabaseTable("sqlite:results.db?table=bikes")
    late_bikes = DatabaseTable("sqlite:results.db?table=bikes2")
    assert list(choose_sinks({"results": bikes, "late": late_bikes}, "checkpoint")) == ["results", "late"]


def test_queries_of_one_pass_have_sinks_of_their_own() -> None:
    arguments: dict[str, dict[str, Any]] = {"hourly": {"results": "a", "late": take}, "daily": {"results": "b"}}
    sinks = choose_sinks_of(arguments, "checkpoint")
    assert list(sinks["hourly"]) == ["results", "late"]
    assert list(sinks["daily"]) == ["results"]


def test_sinks_of_queries_of_one_pass_that_get_in_each_others_way_are_named_with_their_queries() -> None:
    with pytest.raises(QueryError, match=r"results\['hourly'\]=.* and late\['daily'\]=.* lie in each other's folder"):
        choose_sinks_of({"hourly": {"results": "a"}, "daily": {"results": "b", "late": "a/late"}}, "checkpoint")
    sink = Nowhere()
    with pytest.raises(QueryError, match=r"results\['hourly'\] and results\['daily'\] are the same sink"):
        choose_sinks_of({"hourly": {"results": sink}, "daily": {"results": sink}}, "checkpoint")
    with pytest.raises(QueryError, match="needs at least one sink for 'daily'"):
        choose_sinks_of({"hourly": {"results": sink}, "daily": {"results": None}}, "checkpoint")


def test_a_checkpoint_in_an_object_store_is_in_no_folder_of_a_sink(tmp_path: Path) -> None:
    assert list(choose_sinks({"results": tmp_path}, "s3://bucket/checkpoint")) == ["results"]


def test_a_checkpoint_named_as_a_url_of_a_file_is_compared_as_its_path(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="lie in each other's folder"):
        choose_sinks({"results": tmp_path / "results"}, f"file:{tmp_path}")


def test_a_checkpoint_needs_a_path() -> None:
    with pytest.raises(QueryError, match="the checkpoint needs a path"):
        choose_sinks({"results": take}, "")


def test_a_changelog_table_takes_changes_alone() -> None:
    table = ChangelogTable("no such folder", key="station")
    table.check(["station", "window", "change", "event_id", "n"])
    with pytest.raises(QueryError, match="the output has no 'change'"):
        table.check(["station", "window", "n"])
    with pytest.raises(QueryError, match="the output has no 'station'"):
        table.check(["window", "change", "event_id", "n"])


def test_a_changelog_table_takes_the_keys_of_the_query_and_no_fewer() -> None:
    table = ChangelogTable("no such folder")
    table.keyed_by(["station", "line"])
    assert str(table) == "ChangelogTable('no such folder', key=['station', 'line'])"
    ChangelogTable("no such folder", key=["line", "station"]).keyed_by(["station", "line"])
    for key in ("station", ()):  # fewer than the query has
        with pytest.raises(QueryError, match=r"lacks the key '(line|station)'.*\n  leave key= out"):
            ChangelogTable("no such folder", key=key).keyed_by(["station", "line"])


@pytest.mark.parametrize("name", ["batch", "Batch"])
def test_a_parquet_folder_takes_no_second_column_for_the_micro_batch(name: str) -> None:
    with pytest.raises(QueryError, match="adds a column 'batch', and the output has one already"):
        ParquetFolder("no such folder").check(["window", name])


def test_a_sink_needs_no_more_than_write() -> None:
    sink = Nowhere()
    sink.keyed_by(["k"])
    sink.check(["n"])
    sink.open("q")
    sink.take_watermark(5)
    sink.take_count(7)
    sink.take_input_id("a file")
    assert sink.last_written is None
    assert sink.folder is None
