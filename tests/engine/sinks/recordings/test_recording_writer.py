"""How a recording is written, ends and goes on, without Spark."""

from __future__ import annotations

import json
import logging
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from muntin import tumbling
from muntin.errors import QueryError
from muntin.testing import Script
from muntin.windows.specification import Unwindowed
from muntin_engine import Recorder, Recording, RecordingError
from muntin_engine.sinks.recordings.recording_files import CELLS
from muntin_engine.sinks.recordings.recording_writer import RecordedQuery, RecordingWriter
from muntin_engine.tasks.recorded_rows import RecordedRows, read_part
from muntin_engine.tasks.stateless_task import run_task
from muntin_engine.wire.blobs import from_blob
from muntin_engine.wire.task_as_data import task_to_data
from muntin_stats import Sum
from tests.engine.recording.recorded import RecordedRun, arrivals, recorded
from tests.engine.wire.payloads import TICKS, rows, task_of
from tests.modules.merged_states import Signs
from tests.scenarios.query import Query
from tests.scenarios.running import Mishaps
from tests.scenarios.scenario import Scenario

# Twelve micro-batches of one event each, of two keys by turns, three ticks apart.
STREAM = Script()
for number in range(12):
    STREAM = STREAM.point(number, number * 3, number, key="ab"[number % 2]).punctuate(number * 3).batch()
SCENARIO = Scenario(
    Query(tumbling(10), (Sum(),), lifetimes="points"), STREAM, Mishaps(disorder=False, cuts=None, crashes=0.0)
)


def test_a_recording_that_has_reached_its_size_ends_with_a_warning_and_can_be_replayed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "muntin.recording"):
        run, recording = recorded(SCENARIO, "general", tmp_path / "r", most_bytes="6 KB")
    assert 0 < len(recording.batches) < 12
    assert recording.stopped == f"it has reached 6 KB with micro-batch {len(recording.batches) - 1}"
    assert [record.message for record in caplog.records] == [
        f"the recording {tmp_path / 'r'} ends, and the query goes on: {recording.stopped}"
    ]
    changes_of_recorded_batches = list(chain.from_iterable(run.changes[: len(recording.batches)]))
    recording.replay().check(changes=changes_of_recorded_batches)

    run.start()
    assert "is full, and nothing is added to it" in caplog.text
    assert len(Recording(tmp_path / "r").batches) == len(recording.batches)


def test_a_recording_goes_on_after_a_gap_with_the_state_of_its_end(tmp_path: Path) -> None:
    run = RecordedRun(SCENARIO, "general", tmp_path / "r")
    batches = list(arrivals(SCENARIO))
    for arrival in batches[:3]:
        run.process(arrival)

    # The recording stops, and the query goes on without it.
    (tmp_path / "r/stopped.json").write_text(json.dumps({"batch": 3, "reason": "a full disk", "is_full": False}))
    for arrival in batches[3:6]:
        run.process(arrival)
    assert Recording(tmp_path / "r").stopped == "a full disk"

    # The query is started again.
    run.start()
    for arrival in batches[6:]:
        run.process(arrival)
    recording = Recording(tmp_path / "r")
    assert recording.stopped == ""
    assert [batch.number for batch in recording.batches] == [0, 1, 2, *range(6, len(batches))]
    for batch in recording.replay().batches:
        assert batch.changes == sorted(run.changes[batch.number], key=batch.changes.index)
    assert recording.evaluators == ("general",)


def test_a_recording_that_is_ahead_of_its_checkpoint_is_refused(tmp_path: Path) -> None:
    run, _ = recorded(SCENARIO, "general", tmp_path / "r")
    run._number = 3  # as if the checkpoint was put back to this micro-batch
    with pytest.raises(RecordingError, match=r"has micro-batches up to 11, and the checkpoint up to 3"):
        run.start()


def test_a_folder_without_runs_or_of_another_format_is_no_recording(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="is not a recording"):
        Recording(tmp_path)
    recorded(SCENARIO, "general", tmp_path / "r")
    file = tmp_path / "r/runs/0000.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "format": 9}))
    with pytest.raises(RecordingError, match="has the format 9, and this version reads 1"):
        Recording(tmp_path / "r")


def test_a_recording_of_some_keys_has_their_rows_and_those_without_a_key(tmp_path: Path) -> None:
    run, recording = recorded(SCENARIO, "general", tmp_path / "r", keys=["a"])
    rows: list[dict[str, Any]] = []
    for batch in recording.batches:
        for part in batch.parts:
            rows += part.rows.to_pylist()
    assert {row["k0"] for row in rows if row["change"] == "insert"} == {"a"}
    assert {row["change"] for row in rows} == {"insert", "punctuate"}

    changes_of_key = [row for row in chain.from_iterable(run.changes) if row["key"] == "a"]
    recording.replay().check(changes=changes_of_key)


def test_values_of_every_type_come_back_from_a_file(tmp_path: Path) -> None:
    columns: dict[str, pa.Array] = {
        "start": pa.array([1, 2], pa.timestamp("us", tz="America/New_York")),
        "k0": pa.array([None, "x"]),
        "i0": pa.array([1, None], pa.duration("us")),
        "i1": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
        "i2": pa.array([{"x": [1.5, float("nan")]}, {"x": None}], pa.struct([("x", pa.list_(pa.float64()))])),
        "i3": pa.array(["1.50", None]).cast(pa.decimal128(20, 2)),
        "i4": pa.array([b"\0", b""], pa.binary()),
        "i5": pa.array([1, None], pa.date32()),
    }
    batch = pa.record_batch(columns)
    file = tmp_path / "rows/00000000/0000-00003.parquet"  # the last number is that of the partition
    rows = RecordedRows(file)
    rows.write(batch)
    rows.finish([], ["alarm"])

    part = read_part(file)
    assert part.partition == 3
    assert part.report.signals == ("alarm",)
    (batch_of_file,) = part.batches()
    assert batch_of_file.schema.equals(batch.schema)
    assert str(batch_of_file.to_pylist()) == str(batch.to_pylist())  # as texts, since NaN does not equal itself


def test_a_query_without_state_is_recorded_by_its_only_tasks(tmp_path: Path) -> None:
    schema = pa.schema([("key", pa.string()), ("lifetime", TICKS), ("value", pa.int64())])
    task = task_of(Signs(), evaluator="stateless", is_point=True, plan={"window": Unwindowed()}, results=schema)
    writer = RecordingWriter(Recorder(tmp_path / "r"))
    writer.begin(RecordedQuery(task_to_data(task.plan, task), CELLS.empty_table), "", -1)
    results_by_batch = []
    for number, values in enumerate([[3, -5, 0], [8]]):
        batches = [rows(start=list(range(len(values))), i0=values)]
        blobs = list(run_task(task, batches, writer.rows.of_task(number, 0)))
        writer.commit(number, "id", [(blob.stream, blob.rows) for blob in blobs])
        (results,) = [from_blob(blob.data).to_pylist() for blob in blobs if blob.data is not None]
        results_by_batch.append(results)

    recording = Recording(tmp_path / "r", modules=[Signs])
    assert [batch.changes for batch in recording.replay().batches] == results_by_batch
    assert recording.evaluators == ("stateless",)  # others wait for a watermark
    with pytest.raises(RecordingError, match="is of the stateless evaluator, so event_by_event cannot go on"):
        recording.replay("event_by_event")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": "s3://bucket/r"}, "is not a path of this machine"),
        ({"path": "r", "keys": "north"}, "keys='north' is one key\n  expected: a list of keys, keys=\\['north'\\]"),
        ({"path": "r", "keys": 5}, "keys=5 is one key\n  expected: a list of keys, keys=\\[5\\]"),
        ({"path": "r", "most_bytes": "much"}, "is not a size"),
    ],
)
def test_a_recorder_with_an_argument_of_no_meaning_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(QueryError, match=message):
        Recorder(**arguments)


def test_a_recorder_takes_sizes_as_text_and_keys_as_values_or_tuples() -> None:
    assert Recorder("r", most_bytes="1.5 MB").bytes_limit == 1_500_000
    assert Recorder("r", keys=["a", ("b", 2)]).key_tuples == (("a",), ("b", 2))
