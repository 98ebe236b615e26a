"""What pages say of the windows of Bytewax, Pathway and Quix Streams is so. `make test-others` runs this."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

MINUTE = timedelta(minutes=1)
START = datetime(2024, 5, 1, 8, tzinfo=UTC)


class TestBytewax:
    @pytest.fixture(autouse=True)
    def _windowing(self) -> None:
        self.win = pytest.importorskip("bytewax.operators.windowing")

    def run(self, windower: Any, minutes: list[float]) -> tuple[list[Any], list[Any], list[Any]]:
        """Return the streams `down`, `late` and `meta` of readings at some minutes; one may be two minutes late."""
        win = self.win
        op = pytest.importorskip("bytewax.operators")
        from bytewax.dataflow import Dataflow
        from bytewax.testing import TestingSink, TestingSource, run_main

        flow = Dataflow("flow")
        readings = [("key", START + minute * MINUTE) for minute in minutes]
        clock = win.EventClock(ts_getter=lambda at: at, wait_for_system_duration=2 * MINUTE)
        windows = win.collect_window("windows", op.input("readings", flow, TestingSource(readings)), clock, windower)
        counts_taken: dict[str, list[Any]] = {"down": [], "late": [], "meta": []}
        for name, items in counts_taken.items():
            op.output(name, getattr(windows, name), TestingSink(items))
        run_main(flow)
        return counts_taken["down"], counts_taken["late"], counts_taken["meta"]

    def test_an_item_below_the_watermark_is_late_though_a_window_of_it_is_open(self) -> None:
        hopping = self.win.SlidingWindower(length=10 * MINUTE, offset=5 * MINUTE, align_to=START)
        down, late, _ = self.run(hopping, [0, 14, 6])
        assert len(late) == 2  # one for each of its windows
        members = chain.from_iterable(window_members for _, (_, window_members) in down)
        assert set(members) == {START, START + 14 * MINUTE}

    def test_gaps_between_windows_are_refused(self) -> None:
        with pytest.raises(ValueError, match="offset"):
            self.win.SlidingWindower(length=MINUTE, offset=2 * MINUTE, align_to=START)

    def test_items_exactly_the_gap_apart_are_one_session_that_ends_with_its_last_item(self) -> None:
        down, _, meta = self.run(self.win.SessionWindower(gap=5 * MINUTE), [0, 5])
        assert [len(members) for _, (_, members) in down] == [2]
        assert [window.close_time for _, (_, window) in meta] == [START + 5 * MINUTE]


class TestPathway:
    def counts(self, rows: str, window: Any, behavior: Any = None) -> dict[tuple[int, int], int]:
        """Return the count of each window in the end; each row has its time `t`, and when it comes, `__time__`."""
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
            f"from datetime import timedelta\nfrom quixstreams.dataframe.windows import Count\n"
            f"deliveries = [[('key', minute, 0.0) for minute in {minutes}]]\nfound = []\n"
            f"time_of = lambda reading, *_: int(reading['at'] * 60_000)\n"
            f"averages = lambda readings: readings.{make}.agg(n=Count()).final().update(found.append)\n"
        )
        output = run_program(str(program))["found"]
        return [(window["start"] / 60_000, window["end"] / 60_000, window["n"]) for window in output]

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
