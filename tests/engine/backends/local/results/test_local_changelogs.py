"""What changelogs in tables add up to, against the fold of the SDK."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any
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
KEYS = ("a", "b", None)
SEED = 20_130_101


HISTORIES = {key: list(random_changes(random.Random(f"{SEED} {key}"))) for key in KEYS}


def changelog() -> pa.Table:
    """All changes, of five a micro-batch, in any order."""
    rows: list[dict[str, Any]] = []
    for key, changes in HISTORIES.items():
        rows += [row_of(key, place // 5, change) for place, change in enumerate(changes)]
    random.Random(SEED).shuffle(rows)
    return pa.Table.from_pylist(rows, SCHEMA)


def in_order(table: pa.Table) -> list[str]:
    return sorted(map(str, table.to_pylist()))


def live_rows() -> list[tuple[str | None, int, int | None, float]]:
    rows: list[tuple[str | None, int, int | None, float]] = []
    for key, changes in HISTORIES.items():
        for event in fold_changes(changes).values():
            rows.append((key, event.start, finite(event.end), event.payload))
    return sorted(rows, key=str)


def rows_of(table: pa.Table) -> list[tuple[str | None, int, int | None, float]]:
    rows: list[tuple[str | None, int, int | None, float]] = []
    for row in table.to_pylist():
        lifetime = row["lifetime"]
        rows.append((row["key"], lifetime["start"], lifetime["end"], row["value"]))
    return sorted(rows, key=str)


def test_a_fold_is_the_history_that_the_changes_mean() -> None:
    table: Any = fold(changelog().drop_columns("batch"), key="key")
    assert table.column_names == ["key", "lifetime", "value"]
    assert rows_of(table) == live_rows()
    assert len(table) > 20


@pytest.mark.parametrize(("kind", "make"), [(pd.DataFrame, pa.Table.to_pandas), (pl.DataFrame, pl.from_arrow)])
def test_a_fold_is_of_the_kind_of_its_changelog(kind: Any, make: Any) -> None:
    rows: Any = make(changelog().drop_columns("batch"))
    table: Any = fold(rows, key="key")
    assert isinstance(table, kind)
    assert table.shape == (len(live_rows()), 3)


def test_a_fold_has_its_lifetimes_in_the_order_of_their_fields_in_the_changelog() -> None:
    rows = changelog().drop_columns("batch")
    lifetimes = rows["lifetime"].combine_chunks()
    fields = [lifetimes.field("end"), lifetimes.field("start")]
    end_first = pa.StructArray.from_arrays(fields, ["end", "start"], mask=lifetimes.is_null())
    place = rows.column_names.index("lifetime")
    table: Any = fold(rows.set_column(place, "lifetime", end_first), key="key")
    assert [field.name for field in table.schema.field("lifetime").type] == ["end", "start"]
    assert rows_of(table) == live_rows()


def test_net_changes_are_those_that_the_driver_adds_up() -> None:
    names = ["batch", "key"]
    net: Any = net_changes(changelog(), key=names)
    expected = net_changes_on_driver(changelog(), [*names, "event_id"])
    assert net.schema == expected.schema
    assert in_order(net) == in_order(expected)
    assert set(net["change"].to_pylist()) == {"upsert", "delete"}


def test_changes_are_applied_to_a_table_of_live_rows() -> None:
    changelogs = LocalChangelogs()
    table = None
    for batch in sorted(set(changelog()["batch"].to_pylist())):
        changes = changelog().filter(pa.compute.field("batch") == batch).drop_columns("batch")
        table = changelogs.live_rows(changes, "key", table)
    assert table is not None
    assert rows_of(table) == live_rows()


def test_rows_are_final_that_end_before_the_watermark() -> None:
    rows = live_rows()
    final: Any = final_rows(changelog().drop_columns("batch"), 50, key="key")
    assert rows_of(final) == [row for row in rows if row[2] is not None and row[2] < 50]
    nothing: Any = final_rows(changelog(), None, key="key")
    assert len(nothing) == 0
    everything: Any = final_rows(changelog(), INFINITY, key="key")
    assert len(everything) == len(rows)


def test_early_results_are_final_by_their_start_and_others_at_once() -> None:
    window = pa.array([{"start": 0, "end": 10}, {"start": 10, "end": 20}], EXTENT)
    table = pa.table({"window": window, "n": [1, 2]})
    early = table.append_column("timing", pa.array(["early", "on time"]))
    assert final_rows(early, 5).num_rows == 1
    assert final_rows(table, 5).num_rows == 2
    with pytest.raises(QueryError, match="rows are final by their lifetimes, and these have none"):
        final_rows(early.drop_columns("window"), 5)


def test_0_and_minus_0_are_one_key() -> None:
    rows = pa.table({"k": [0.0, -0.0], "change": ["insert", "retract"], "event_id": [1, 1]})
    folded: Any = fold(rows, key="k")
    assert len(folded) == 0


def test_results_name_their_keys_also_in_files(tmp_path: Path) -> None:
    table = pa.table({"k": ["a"], "at": [1], "id": [1]})
    eager: Any = events(table, key="k", at="at", id="id").to_query(emit="eager").results()
    pq.write_table(eager, tmp_path / "part.parquet")
    for changes in (eager, str(tmp_path / "*.parquet")):
        folded: Any = fold(changes)
        assert folded.column_names == ["k", "lifetime", "id"]
    with pytest.raises(QueryError, match="key='id' lacks 'k'"):
        fold(eager, key="id")
    with pytest.raises(QueryError, match="does not say what its key columns are"):
        fold(eager.to_pandas())
    with pytest.raises(QueryError, match="this one has no 'change'"):
        fold(eager.drop_columns("change"), key="k")


@pytest.mark.parametrize("call", [fold, lambda changes, key: final_rows(changes, 100, key=key), net_changes])
def test_a_column_of_nulls_alone_stays_and_one_without_a_meaning_is_refused(call: Any) -> None:
    changes = pd.DataFrame({"change": ["insert"], "event_id": [1], "key": ["a"], "window": [{"start": 1, "end": 2}]})
    assert call(changes.assign(note=None), "key").note.tolist() == [None]

    with pytest.raises(QueryError, match=r"'id' is of type object .*, which has no meaning in a query"):
        call(changes.assign(id=[UUID(int=1)]), "key")


def test_final_rows_without_a_change_keep_all_their_columns() -> None:
    rows = pd.DataFrame({"timing": ["final"], "window": [{"start": 1, "end": 2}]})
    assert final_rows(rows.assign(note=None), 100).columns.tolist() == ["timing", "window", "note"]
    with pytest.raises(QueryError, match="'id' is of type object"):
        final_rows(rows.assign(id=[UUID(int=1)]), 100)
