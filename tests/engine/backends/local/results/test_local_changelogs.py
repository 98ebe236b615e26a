"""What changelogs in tables add up to, against the fold of the SDK."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from muntin import INFINITY
from muntin.changes import fold as fold_changes
from muntin.errors import QueryError
from muntin_engine import events, final_rows, fold, net_changes
from muntin_engine.backends.local.results.local_changelogs import LocalChangelogs
from muntin_engine.sinks.net_changes_on_driver import net_changes_on_driver
from tests.engine.backends.random_changes import finite, random_changes, row_of

EXTENT = pa.struct([("start", pa.int64()), ("end", pa.int64())])
SCHEMA = pa.schema(
    [
        ("batch", pa.int64()),
        ("key", pa.string()),
        ("lifetime", EXTENT),
        ("change", pa.string()),
        ("event_id", pa.int64()),
        ("new_end", pa.int64()),
        ("value", pa.float64()),
    ]
)
SEED = 20_130_101

HISTORIES = {key: list(random_changes(random.Random(f"{SEED} {key}"))) for key in ("a", "b", None)}
"""By key, its changes in order."""


class LiveRow(NamedTuple):
    key: str | None
    start: int
    end: int | None
    value: float


def changelog() -> pa.Table:
    """Return all changes in any order; of each key, five are in a micro-batch."""
    rows: list[dict[str, Any]] = []
    for key, changes in HISTORIES.items():
        rows += [row_of(key, place // 5, change) for place, change in enumerate(changes)]
    random.Random(SEED).shuffle(rows)
    return pa.Table.from_pylist(rows, SCHEMA)


def rows_as_text(table: pa.Table) -> list[str]:
    return sorted(map(str, table.to_pylist()))


def expected_live_rows() -> list[LiveRow]:
    """Return the rows that are live after all changes, as the SDK folds them key by key."""
    rows: list[LiveRow] = []
    for key, changes in HISTORIES.items():
        for event in fold_changes(changes).values():
            rows.append(LiveRow(key, event.start, finite(event.end), event.payload))
    return sorted(rows, key=str)


def live_rows_of(table: pa.Table) -> list[LiveRow]:
    rows: list[LiveRow] = []
    for row in table.to_pylist():
        lifetime = row["lifetime"]
        rows.append(LiveRow(row["key"], lifetime["start"], lifetime["end"], row["value"]))
    return sorted(rows, key=str)


def test_a_fold_has_the_rows_that_are_live_after_all_changes() -> None:
    table: Any = fold(changelog().drop_columns("batch"), key="key")
    assert table.column_names == ["key", "lifetime", "value"]
    assert live_rows_of(table) == expected_live_rows()
    assert len(table) > 20


@pytest.mark.parametrize(("kind", "make"), [(pd.DataFrame, pa.Table.to_pandas), (pl.DataFrame, pl.from_arrow)])
def test_a_fold_is_of_the_kind_of_its_changelog(kind: Any, make: Any) -> None:
    changes: Any = make(changelog().drop_columns("batch"))
    table: Any = fold(changes, key="key")
    assert isinstance(table, kind)
    assert table.shape == (len(expected_live_rows()), 3)


def test_a_fold_has_its_lifetimes_in_the_order_of_their_fields_in_the_changelog() -> None:
    changes = changelog().drop_columns("batch")
    lifetimes = changes["lifetime"].combine_chunks()
    fields = [lifetimes.field("end"), lifetimes.field("start")]
    end_first = pa.StructArray.from_arrays(fields, ["end", "start"], mask=lifetimes.is_null())
    place = changes.column_names.index("lifetime")

    table: Any = fold(changes.set_column(place, "lifetime", end_first), key="key")
    assert [field.name for field in table.schema.field("lifetime").type] == ["end", "start"]
    assert live_rows_of(table) == expected_live_rows()


def test_net_changes_are_those_that_the_driver_adds_up() -> None:
    names = ["batch", "key"]
    net: Any = net_changes(changelog(), key=names)
    expected = net_changes_on_driver(changelog(), [*names, "event_id"])
    assert net.schema == expected.schema
    assert rows_as_text(net) == rows_as_text(expected)
    assert set(net["change"].to_pylist()) == {"upsert", "delete"}


def test_changes_of_one_micro_batch_after_another_are_applied_to_a_table_of_live_rows() -> None:
    changelogs = LocalChangelogs()
    table = None
    for batch in sorted(set(changelog()["batch"].to_pylist())):
        changes = changelog().filter(pa.compute.field("batch") == batch).drop_columns("batch")
        table = changelogs.live_rows(changes, "key", table)
    assert table is not None
    assert live_rows_of(table) == expected_live_rows()


def test_rows_are_final_that_end_before_the_watermark() -> None:
    final: Any = final_rows(changelog().drop_columns("batch"), 50, key="key")
    expected = [row for row in expected_live_rows() if row.end is not None and row.end < 50]
    assert live_rows_of(final) == expected
    assert expected


def test_without_a_watermark_no_row_is_final_and_at_the_end_all_are() -> None:
    without_watermark: Any = final_rows(changelog(), None, key="key")
    assert len(without_watermark) == 0
    at_the_end: Any = final_rows(changelog(), INFINITY, key="key")
    assert len(at_the_end) == len(expected_live_rows())


def test_results_that_are_no_changes_are_all_final() -> None:
    window = pa.array([{"start": 0, "end": 10}, {"start": 10, "end": 20}], EXTENT)
    results = pa.table({"window": window, "n": [1, 2]})
    assert final_rows(results, 5).num_rows == 2


def test_early_results_are_final_if_their_windows_start_before_the_watermark() -> None:
    window = pa.array([{"start": 0, "end": 10}, {"start": 10, "end": 20}], EXTENT)
    early = pa.table({"window": window, "n": [1, 2], "timing": ["early", "on time"]})
    assert final_rows(early, 5)["n"].to_pylist() == [1]
    with pytest.raises(QueryError, match="rows are final by their lifetimes, and these have none"):
        final_rows(early.drop_columns("window"), 5)


def test_0_and_minus_0_are_one_key() -> None:
    rows = pa.table({"k": [0.0, -0.0], "change": ["insert", "retract"], "event_id": [1, 1]})
    folded: Any = fold(rows, key="k")
    assert len(folded) == 0


def eager_results() -> pa.Table:
    """Return the results of a query with the key `k`, which are a changelog."""
    table = pa.table({"k": ["a"], "at": [1], "id": [1]})
    results: pa.Table = events(table, key="k", at="at", id="id").to_query(emit="eager").results()
    return results


def test_results_name_their_keys_also_in_files(tmp_path: Path) -> None:
    results = eager_results()
    pq.write_table(results, tmp_path / "part.parquet")
    for changes in (results, str(tmp_path / "*.parquet")):
        folded: Any = fold(changes)
        assert folded.column_names == ["k", "lifetime", "id"]


def test_a_fold_by_other_keys_or_of_what_is_no_changelog_is_refused() -> None:
    results = eager_results()
    with pytest.raises(QueryError, match="key='id' lacks 'k'"):
        fold(results, key="id")
    with pytest.raises(QueryError, match="does not say what its key columns are"):
        fold(results.to_pandas())
    with pytest.raises(QueryError, match="this one has no 'change'"):
        fold(results.drop_columns("change"), key="k")


@pytest.mark.parametrize("call", [fold, lambda changes, key: final_rows(changes, 100, key=key), net_changes])
def test_a_column_of_nulls_alone_stays_and_one_without_a_meaning_is_refused(call: Any) -> None:
    changes = pd.DataFrame({"change": ["insert"], "event_id": [1], "key": ["a"], "window": [{"start": 1, "end": 2}]})
    assert call(changes.assign(note=None), "key")["note"].tolist() == [None]

    with pytest.raises(QueryError, match=r"'id' is of type object .*, which has no meaning in a query"):
        call(changes.assign(id=[UUID(int=1)]), "key")


def test_final_rows_of_results_without_changes_keep_all_columns_that_have_a_meaning() -> None:
    rows = pd.DataFrame({"timing": ["final"], "window": [{"start": 1, "end": 2}]})
    assert final_rows(rows.assign(note=None), 100).columns.tolist() == ["timing", "window", "note"]
    with pytest.raises(QueryError, match="'id' is of type object"):
        final_rows(rows.assign(id=[UUID(int=1)]), 100)
