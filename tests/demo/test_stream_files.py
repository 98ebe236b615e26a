"""The stream as a folder of Parquet files that Spark reads in delivery order."""

from itertools import pairwise
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from demo.delivery import SCHEMA, deliver, write_stream


@pytest.fixture(scope="module")
def days(january: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The files of January, one per day."""
    return write_stream(january, tmp_path_factory.mktemp("demo") / "stream")


def test_the_files_hold_the_stream_in_delivery_order(days: list[Path], january: pd.DataFrame) -> None:
    stream = pa.concat_tables([pq.read_table(day) for day in days])
    assert stream.equals(pa.Table.from_pandas(deliver(january), SCHEMA, preserve_index=False))


def test_there_is_one_file_per_day_of_delivery(days: list[Path]) -> None:
    assert [day.name for day in days[:2]] == ["2013-01-01T000000Z.parquet", "2013-01-02T000000Z.parquet"]
    assert len(days) == 32  # the last flights land on 1 February, UTC
    delivered = pq.read_table(days[1])["delivered"].to_pandas()
    assert delivered.dt.strftime("%Y-%m-%d").unique().tolist() == ["2013-01-02"]


def test_names_and_modification_times_rise_with_delivery_time(days: list[Path]) -> None:
    modified = [day.stat().st_mtime for day in days]
    assert days == sorted(days[0].parent.iterdir())
    assert [later - earlier for earlier, later in pairwise(modified)] == [1.0] * 31


def test_the_stream_is_closed_by_the_last_row_of_the_last_file_only(days: list[Path]) -> None:
    changes = [pq.read_table(day, columns=["change"])["change"].to_pylist() for day in days]
    assert changes[-1][-1] == "close"
    assert sum(change.count("close") for change in changes) == 1


def test_times_are_utc_microseconds_and_unknowns_are_nulls(days: list[Path]) -> None:
    table = pq.read_table(days[0])
    assert table.schema.equals(SCHEMA, check_metadata=True)
    assert table.schema.field("departure").type == pa.timestamp("us", "UTC")
    assert table["end"].null_count == len(table)

    punctuations = table["change"].to_pylist().count("punctuate")  # which are of no flight
    assert punctuations > 0
    for column in ("id", "distance", "tailnum"):
        assert table[column].null_count == punctuations, column


def test_writing_again_gives_the_same_bytes_names_and_times(
    days: list[Path], january: pd.DataFrame, tmp_path: Path
) -> None:
    again = write_stream(january, tmp_path / "again")
    assert [_as_written(day) for day in again] == [_as_written(day) for day in days]


def _as_written(path: Path) -> tuple[str, float, bytes]:
    """Return the name of a file, when it was modified, and its bytes."""
    return path.name, path.stat().st_mtime, path.read_bytes()


def test_an_earlier_stream_is_replaced_and_nothing_else_is_left(
    days: list[Path], january: pd.DataFrame, tmp_path: Path
) -> None:
    folder = tmp_path / "stream"
    earlier = write_stream(january, folder, "6 hours")
    (tmp_path / ".stream.partial").mkdir()
    (tmp_path / ".stream.partial" / "left-by-a-kill.parquet").touch()
    again = write_stream(january, folder, "1 day")
    assert len(earlier) > len(again)
    assert len(again) == len(days)
    assert sorted(folder.iterdir()) == again
    assert list(tmp_path.iterdir()) == [folder]


def test_a_failure_halfway_leaves_the_earlier_stream(
    january: pd.DataFrame, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "stream"
    earlier = [_as_written(day) for day in write_stream(january, folder)]
    monkeypatch.setattr("demo.delivery.os.utime", _disk_is_full)  # after the first file
    with pytest.raises(OSError, match="disk is full"):
        write_stream(january, folder, "6 hours")
    assert [_as_written(day) for day in sorted(folder.iterdir())] == earlier


def _disk_is_full(*_: object) -> None:
    raise OSError("disk is full")


def test_a_folder_with_other_files_is_refused_and_untouched(january: pd.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match=r"holds 'thesis\.txt'"):
        write_stream(january, tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize("span", ["0 days", "-1 day", "1 ms", "NaT"])
def test_a_span_too_short_for_a_file_is_refused(span: str, january: pd.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="too short for one file"):
        write_stream(january, tmp_path / "stream", span)
    assert list(tmp_path.iterdir()) == []
