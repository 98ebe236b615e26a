"""Files: what is wrong with them is said, and nothing in them is dropped or filled in."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from muntin import tumbling
from muntin.errors import QueryError
from muntin_engine import Query, events, module
from muntin_engine.backends.local.frames import file_parts
from muntin_engine.backends.local.frames.files import NamedFiles
from muntin_engine.backends.local.frames.local_frame import opened

ROWS = pa.table({"k": ["a", "b"], "at": [1, 2], "x": [3, 4]})
WITHOUT_X = ROWS.drop_columns("x")
WITH_X_AS_TEXT = ROWS.set_column(2, "x", pa.array(["3", "4"]))

MANY_ROWS = 30_000
"""More rows than DuckDB looks at by default to find the columns of a file and their types."""


def lists_by_key(path: Path | str, column: str = "x") -> Query:
    """Return a query that collects the values of a column of files, by `k`."""
    windows = events(path, key="k", at="at").window(tumbling(10))
    return windows.aggregate(values=module("stats.collect_list", column))


def values_by_key(path: Path | str, column: str = "x") -> dict[str, list[Any]]:
    """Return the values of a column of files, by `k`."""
    results: Any = lists_by_key(path, column).results()
    return {row["k"]: row["values"] for row in results.to_pylist()}


def write(path: Path, text: str) -> Path:
    """Write a text file, and return its path."""
    path.write_text(text)
    return path


def write_parquet(path: Path, table: pa.Table = ROWS) -> Path:
    """Write a table to a file, and return the file's path."""
    pq.write_table(table, path)
    return path


def write_two_parquet(folder: Path, second: pa.Table) -> Path:
    """Write the rows and another table to a file each, and return the pattern that both match."""
    write_parquet(folder / "1.parquet")
    write_parquet(folder / "2.parquet", second)
    return folder / "*.parquet"


def write_two_csv(folder: Path, second: str) -> Path:
    """Write a row and another text to a file each, and return the pattern that both match."""
    write(folder / "1.csv", "k,at,x\na,1,3\n")
    write(folder / "2.csv", second)
    return folder / "*.csv"


def write_cut_file(folder: Path) -> Path:
    """Write the first bytes of a Parquet file, without the end that describes it."""
    path = write_parquet(folder / "cut.parquet")
    path.write_bytes(path.read_bytes()[:100])
    return path


def write_damaged_file(folder: Path) -> Path:
    """Write a Parquet file with zeros in the place of its first values."""
    path = write_parquet(folder / "damaged.parquet")
    data = bytearray(path.read_bytes())
    data[4:40] = bytes(36)
    path.write_bytes(data)
    return path


# By what is wrong: what writes such files into a folder and returns their path, and parts of the message.
WRONG_FILES: dict[str, tuple[Callable[[Path], Path], list[str]]] = {
    "no file": (lambda folder: folder / "none.parquet", ["there is no file", "it is looked for in"]),
    "no file that matches": (lambda folder: folder / "*.csv", ["there is no file"]),
    "an empty folder": (lambda folder: folder, ["has no files that can be read", ".parquet, .csv"]),
    "another format": (
        lambda folder: write(folder / "rows.txt", "k,at,x\n"),
        ["is no file that can be read", ".parquet, .csv"],
    ),
    "a part of a file": (write_cut_file, ["cut.parquet' cannot be read"]),
    "a damaged file": (write_damaged_file, ["the rows of", "damaged.parquet' cannot be read"]),
    "Parquet without a byte": (
        lambda folder: write(folder / "empty.parquet", ""),
        ["empty.parquet' cannot be read", "too small"],
    ),
    "CSV without a byte": (
        lambda folder: write(folder / "empty.csv", ""),
        ["empty.csv' is empty", "a first line with the names"],
    ),
    "JSON without a byte": (
        lambda folder: write(folder / "empty.json", ""),
        ["empty.json' is empty", "an object a line"],
    ),
    "a row with too few fields": (
        lambda folder: write(folder / "short.csv", "k,at,x\na,1,3\nb,2\n"),
        ["line 3 has 2 fields, and the first line has 3", "the row: 'b,2'"],
    ),
    "a row with too many fields": (
        lambda folder: write(folder / "long.csv", "k,at,x\na,1,3\nb,2,4,5\n"),
        ["line 3 has 4 fields, and the first line has 3", "the row: 'b,2,4,5'"],
    ),
    "an open quote": (
        lambda folder: write(folder / "quote.csv", 'k,at,x\na,1,3\n"b,2,4\n'),
        ["line 3 has 1 fields"],
    ),
    "a title": (
        lambda folder: write(folder / "title.csv", "A title\nk,at,x\na,1,3\n"),
        ["line 2 has 3 fields"],
    ),
    "a comment": (
        lambda folder: write(folder / "note.csv", "k,at,x\n# a note\na,1,3\n"),
        ["line 2 has 1 fields", "# a note"],
    ),
    "a word in the last row of a column of numbers": (
        lambda folder: write(folder / "late.csv", "k,at,x\n" + "a,1,3\n" * MANY_ROWS + "b,2,four\n"),
        ["late.csv' cannot be read", "Line: 30002", "b,2,four", "Could not convert string \"four\" to 'BIGINT'"],
    ),
    "two columns of a name": (
        lambda folder: write(folder / "twice.csv", "k,at,x,x\na,1,3,4\n"),
        ["twice.csv' has several columns 'x'"],
    ),
    "an open object": (
        lambda folder: write(folder / "open.jsonl", '{"k":"a","at":1,\n'),
        ["open.jsonl' cannot be read", "Malformed"],
    ),
    "numbers and text in JSON": (
        lambda folder: write(folder / "mixed.jsonl", '{"k":"a","at":1,"x":3}\n{"k":"a","at":2,"x":"four"}\n'),
        ["JSON column 'x' is of type JSON (its values are null, or of several types), which has no meaning"],
    ),
    "a column that is not in all Parquet files": (
        lambda folder: write_two_parquet(folder, WITHOUT_X),
        ["2.parquet' has no column 'x', and other files of"],
    ),
    "a column of two types": (
        lambda folder: write_two_parquet(folder, WITH_X_AS_TEXT),
        ["the column 'x' of", "is of several types: int64 in", "1.parquet', string in"],
    ),
    "a column that is not in all CSV files": (
        lambda folder: write_two_csv(folder, "k,at\nb,2\n"),
        ["2.csv' has no column 'x', and other files of"],
    ),
    "a short row in the second file": (
        lambda folder: write_two_csv(folder, "k,at,x\nb,2\n"),
        ["2.csv' cannot be read: the row that ends in line 2 has 2"],
    ),
}


@pytest.mark.parametrize("name", WRONG_FILES)
def test_what_is_wrong_with_files_is_said(tmp_path: Path, name: str) -> None:
    write_files, messages = WRONG_FILES[name]
    path = write_files(tmp_path)
    with pytest.raises(QueryError) as raised:
        lists_by_key(path).results()
    for message in messages:
        assert message in str(raised.value)
    assert len(str(raised.value)) < 600  # however many rows the file has


def test_what_is_wrong_behind_a_long_field_is_left_to_duckdb(tmp_path: Path) -> None:
    path = write(tmp_path / "wide.csv", "k,at,x\n" + "a" * 200_000 + ",1,3\nb,2,4,5\n")
    with pytest.raises(QueryError, match=r"wide\.csv' cannot be read: Invalid Input Error"):
        lists_by_key(path).results()


def test_files_of_several_formats_are_refused(tmp_path: Path) -> None:
    write_parquet(tmp_path / "1.parquet")
    write(tmp_path / "2.csv", "k,at,x\n")
    with pytest.raises(QueryError, match="all alike"):
        lists_by_key(tmp_path / "*")


@pytest.mark.parametrize("pattern", ["rides/*", "rides/day=*", "rides/**", "rides/*/*"])
def test_a_pattern_reads_the_folders_that_it_matches_and_no_hidden_files(tmp_path: Path, pattern: str) -> None:
    """As Spark does with what it has written: a folder has a file of rows for each task, and `_SUCCESS`."""
    for day in ("day=1", "day=2"):
        (tmp_path / "rides" / day).mkdir(parents=True)
        write_parquet(tmp_path / "rides" / day / "part-0.parquet")
        write(tmp_path / "rides" / day / "_SUCCESS", "")
        write(tmp_path / "rides" / day / ".part-0.parquet.crc", "checksum")
    write(tmp_path / "rides" / "_SUCCESS", "")
    files = NamedFiles.of(str(tmp_path / pattern)).paths
    assert [str(Path(file).relative_to(tmp_path)) for file in files] == [
        "rides/day=1/part-0.parquet",
        "rides/day=2/part-0.parquet",
    ]


def test_a_hidden_file_is_read_if_it_is_named(tmp_path: Path) -> None:
    hidden = write_parquet(tmp_path / "_rides.parquet")
    assert NamedFiles.of(str(hidden)).paths == [str(hidden)]
    assert NamedFiles.of(str(tmp_path / "_*.parquet")).paths == [str(hidden)]


@pytest.mark.parametrize("second", [WITHOUT_X, WITH_X_AS_TEXT], ids=["without x", "x is text"])
def test_a_column_in_which_files_differ_is_no_error_where_it_is_not_read(tmp_path: Path, second: pa.Table) -> None:
    assert values_by_key(write_two_parquet(tmp_path, second), "at") == {"a": [1, 1], "b": [2, 2]}


def test_whole_numbers_of_several_sizes_are_one_column(tmp_path: Path) -> None:
    small_numbers = ROWS.set_column(2, "x", pa.array([5, 6], pa.int8()))
    assert values_by_key(write_two_parquet(tmp_path, small_numbers)) == {"a": [3, 5], "b": [4, 6]}


def test_each_part_of_files_has_the_columns_of_all_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_parts, "PART_ROWS", 2)  # a part is a file here
    frame = opened(write_two_parquet(tmp_path, ROWS))
    parts = frame.parts()
    assert [part.schema for part in parts] == [frame.schema] * 2
    assert pa.concat_tables(map(pa.table, parts)).equals(pa.table(frame))


def test_columns_of_csv_may_come_in_another_order(tmp_path: Path) -> None:
    assert values_by_key(write_two_csv(tmp_path, "x,at,k\n4,2,b\n")) == {"a": [3], "b": [4]}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_csv_has_the_delimiter_of_its_first_line(tmp_path: Path, delimiter: str) -> None:
    text = "k,at,x\na,1,3\n".replace(",", delimiter)
    assert values_by_key(write(tmp_path / "rows.csv", text)) == {"a": [3]}


def test_csv_values_are_read_in_the_types_that_their_text_has_without_a_guess(tmp_path: Path) -> None:
    path = write(
        tmp_path / "rows.csv",
        "day,slashes,moment,quoted,nothing\n"
        '2024-05-01,01/02/2024,2024-05-01 08:00:00,"a, ""b""",\n'
        '2024-05-02,13/02/2024,2024-05-01T08:00:00.5Z,"",\n',
    )
    columns = pa.table(opened(path)).to_pydict()
    assert columns["day"] == [date(2024, 5, 1), date(2024, 5, 2)]
    assert columns["slashes"] == ["01/02/2024", "13/02/2024"]  # text: a day or a month first, it does not say
    assert columns["moment"] == [datetime(2024, 5, 1, 8, tzinfo=UTC), datetime(2024, 5, 1, 8, 0, 0, 500_000, UTC)]
    assert columns["quoted"] == ['a, "b"', ""]
    assert columns["nothing"] == [None, None]


def test_a_key_that_only_the_last_object_of_json_has_is_a_column(tmp_path: Path) -> None:
    lines = '{"k":"a","at":1}\n' * MANY_ROWS + '{"k":"b","at":2,"x":5}\n'
    assert values_by_key(write(tmp_path / "rows.jsonl", lines))["b"] == [5]


@pytest.mark.parametrize(
    ("values", "data_type"),
    [
        (["-4", "18"], pa.int64()),
        (["[1, -2]", "[null]"], pa.list_(pa.int64())),
        (['{"HUGEINT": -1}', '{"HUGEINT": 1}'], pa.struct([("HUGEINT", pa.int64())])),
        (["-1", "9223372036854775808"], pa.decimal128(38, 0)),
        (["-1", "1.5"], pa.float64()),
    ],
)
def test_whole_numbers_of_json_have_64_bits_where_they_fit(
    tmp_path: Path, values: list[str], data_type: pa.DataType
) -> None:
    lines = [f'{{"x": {value}, "at": -1}}\n' for value in values]
    path = write(tmp_path / "rows.jsonl", "".join(lines))
    rows = pa.table(opened(path))
    assert rows.schema.field("x").type == data_type
    assert rows["x"].to_pylist() == [json.loads(value) for value in values]


def test_a_file_of_no_rows_has_no_results(tmp_path: Path) -> None:
    assert values_by_key(write_parquet(tmp_path / "rows.parquet", ROWS.slice(0, 0))) == {}


def test_a_file_that_changes_after_the_query_was_written_is_refused(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "rows.parquet")
    query = lists_by_key(path)

    write_parquet(path, WITHOUT_X)
    with pytest.raises(QueryError, match="has no column 'x' any more: the table has changed since the query was"):
        query.results()

    write_parquet(path, WITH_X_AS_TEXT)
    with pytest.raises(QueryError, match="Parquet column 'x' is of type VARCHAR instead of BIGINT: the table has"):
        query.results()

    path.unlink()
    with pytest.raises(QueryError, match="there is no file"):
        query.results()


@pytest.mark.parametrize("name", ["a b", "ä", "a'b", "a[1]", "a{b}", "a*"])
def test_the_name_of_a_file_may_have_any_letters(tmp_path: Path, name: str) -> None:
    write_parquet(tmp_path / "ab.parquet")  # a* would match it, too
    assert values_by_key(write_parquet(tmp_path / f"{name}.parquet")) == {"a": [3], "b": [4]}

    path = write(tmp_path / f"{name}.csv", "k,at,x\na,1,3\n")
    assert values_by_key(path) == {"a": [3]}
