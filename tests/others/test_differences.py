"""What pages say of the windows of Bytewax, Pathway and Quix Streams is so. `make test-others` runs this."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pytest

MINUTE = timedelta(minutes=1)
START = datetime(2024, 5, 1, 8, tzinfo=UTC)


class Streams(NamedTuple):
    """The streams that windows of Bytewax have: their members, late items, and what is told of windows."""

    down: list[Any]
    late: list[Any]
    meta: list[Any]


class TestBytewax:
    @pytest.fixture(autouse=True)
    def _windowing(self) -> None:
        self.windowing = pytest.importorskip("bytewax.operators.windowing")

    def run(self, windower: Any, minutes: list[float]) -> Streams:
        """Run windows over items at these minutes after `START`, in this order; one may be two minutes late."""
        windowing = self.windowing
        op = pytest.importorskip("bytewax.operators")
        from bytewax.dataflow import Dataflow
        from bytewax.testing import TestingSink, TestingSource, run_main

        flow = Dataflow("flow")
        items = op.input("items", flow, TestingSource([("key", START + minute * MINUTE) for minute in minutes]))
        clock = windowing.EventClock(ts_getter=lambda at: at, wait_for_system_duration=2 * MINUTE)
        windows = windowing.collect_window("windows", items, clock, windower)
        streams = Streams([], [], [])
        for name, stream in streams._asdict().items():
            op.output(name, getattr(windows, name), TestingSink(stream))
        run_main(flow)
        return streams

    def test_an_item_below_the_watermark_is_late_though_a_window_of_it_is_open(self) -> None:
        hopping = self.windowing.SlidingWindower(length=10 * MINUTE, offset=5 * MINUTE, align_to=START)
        streams = self.run(hopping, minutes=[0, 14, 6])
        assert len(streams.late) == 2  # one for each of its windows
        members = chain.from_iterable(window_members for _key, (_id, window_members) in streams.down)
        assert set(members) == {START, START + 14 * MINUTE}

    def test_gaps_between_windows_are_refused(self) -> None:
        with pytest.raises(ValueError, match="offset"):
            self.windowing.SlidingWindower(length=MINUTE, offset=2 * MINUTE, align_to=START)

    def test_items_exactly_the_gap_apart_are_one_session_that_ends_with_its_last_item(self) -> None:
        streams = self.run(self.windowing.SessionWindower(gap=5 * MINUTE), minutes=[0, 5])
        assert [len(members) for _key, (_id, members) in streams.down] == [2]
        assert [window.close_time for _key, (_id, window) in streams.meta] == [START + 5 * MINUTE]


class TestPathway:
    def counts(self, rows: str, window: Any, behavior: Any = None) -> dict[tuple[int, int], int]:
        """Return the count of each window, by its start and end, when all rows have come.

        Args:
            rows: The rows, as a table in Markdown: each has its time, `t`, and may say when it comes, `__time__`.
            window: The windows.
            behavior: What Pathway does with late rows and with windows that are complete.
        """
        pw = pytest.importorskip("pathway")
        table = pw.debug.table_from_markdown(rows)
        counted = table.windowby(pw.this.t, window=window, behavior=behavior).reduce(
            start=pw.this._pw_window_start, end=pw.this._pw_window_end, n=pw.reducers.count()
        )
        _, columns = pw.debug.table_to_dicts(counted)
        return {(columns["start"][key], columns["end"][key]): columns["n"][key] for key in columns["n"]}

    def test_a_late_row_counts_in_those_of_its_windows_that_are_open(self) -> None:
        pw = pytest.importorskip("pathway")
        rows = "t | __time__\n0 | 2\n14 | 4\n6 | 6"
        counts = self.counts(
            rows, pw.temporal.sliding(hop=5, duration=10, origin=0), pw.temporal.exactly_once_behavior(2)
        )
        assert counts == {(0, 10): 1, (5, 15): 2, (10, 20): 1}

    def test_windows_do_not_start_before_their_origin(self) -> None:
        pw = pytest.importorskip("pathway")
        assert self.counts("t\n3", pw.temporal.sliding(hop=5, duration=10, origin=0)) == {(0, 10): 1}

    def test_rows_exactly_the_gap_apart_are_two_sessions_that_end_with_their_last_row(self) -> None:
        pw = pytest.importorskip("pathway")
        assert self.counts("t\n0\n4\n9", pw.temporal.session(max_gap=5)) == {(0, 4): 2, (9, 9): 1}

    def test_sessions_take_no_behavior(self) -> None:
        pw = pytest.importorskip("pathway")
        rows = "t | __time__\n0 | 2\n90 | 4\n1 | 6"
        counts = self.counts(rows, pw.temporal.session(max_gap=5), pw.temporal.exactly_once_behavior())
        assert counts == {(0, 1): 2, (90, 90): 1}


class TestQuixStreams:
    def windows(self, folder: Path, make: str, minutes: list[float]) -> list[tuple[float, float, int]]:
        """Return the windows of messages at some minutes in the order of their ends, in minutes, with their counts."""
        pytest.importorskip("quixstreams")
        from tests.others.quix_without_a_broker import run_program

        program = folder / "program.py"
        program.write_text(
            f"from datetime import timedelta\n"
            f"from quixstreams.dataframe.windows import Count\n"
            f"deliveries = [[('key', minute, 0.0) for minute in {minutes}]]\n"
            f"windows = []\n"
            f"time_of = lambda reading, *_: int(reading['at'] * 60_000)\n"
            f"averages = lambda readings: readings.{make}.agg(n=Count()).final().update(windows.append)\n"
        )
        windows = run_program(str(program))["windows"]
        return [(window["start"] / 60_000, window["end"] / 60_000, window["n"]) for window in windows]

    def test_a_late_message_counts_in_those_of_its_windows_that_are_open(self, tmp_path: Path) -> None:
        make = "hopping_window(timedelta(minutes=10), timedelta(minutes=5), grace_ms=timedelta(minutes=2))"
        assert self.windows(tmp_path, make, [0, 14, 6, 99]) == [(0, 10, 1), (5, 15, 2), (10, 20, 1)]

    def test_sliding_windows_include_both_ends(self, tmp_path: Path) -> None:
        assert self.windows(tmp_path, "sliding_window(timedelta(minutes=5))", [10, 15, 99])[:2] == [
            (5, 10, 1),
            (10, 15, 2),
        ]

    def test_sessions_close_two_gaps_after_their_last_message(self, tmp_path: Path) -> None:
        make = "session_window(timedelta(minutes=5))"
        assert self.windows(tmp_path, make, [0, 5, 15]) == []
        assert self.windows(tmp_path, make, [0, 5, 15.1]) == [(0, 5 + 1 / 60_000, 2)]

    def test_count_windows_that_hop_are_the_last_rows_once_full(self, tmp_path: Path) -> None:
        windows = self.windows(tmp_path, "hopping_count_window(4, 2)", list(range(1, 9)))
        assert [(start, end) for start, end, _ in windows] == [(1, 4), (3, 6), (5, 8)]
