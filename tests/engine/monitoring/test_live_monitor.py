"""Watching a query in a terminal; the running queries of a session."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Mapping, Sequence
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from rich.live import Live

from muntin import INFINITY
from muntin_engine import RunningQuery, SetupError, monitor, queries
from muntin_engine.monitoring.live_monitor import watch_on
from muntin_engine.monitoring.terminal_panels import picture_of
from tests.engine.monitoring.queries import FakeQuery, progress, recorded

BATCHES = [progress(number, muntin={"accepted": 1000 * number, "state_bytes": 2_500_000}) for number in range(4)]
"""Four micro-batches, of 0, 1,000, 2,000 and 3,000 rows."""


def text_of(query: FakeQuery, *, is_active: bool = False) -> str:
    """Return the text that shows a query."""
    console = Console(file=StringIO(), record=True, width=120)
    console.print(picture_of(query, is_active=is_active))
    return console.export_text()


def line(text: str, label: str) -> str:
    """Return the line of a panel that begins with a label, without the frame and with single spaces."""
    (matching_line,) = [line for line in text.splitlines() if re.match(rf"│\s+{label}  ", line)]
    return re.sub(r"\s+", " ", matching_line.replace("│", "")).strip()


def no_pause(_: float) -> None:
    """Wait for no time."""


def test_a_terminal_shows_the_last_batch_and_the_sums() -> None:
    text = text_of(FakeQuery.ended(BATCHES))
    assert "muntin: micro-batch 3" in text
    assert re.search(r"last\s+last 4", text)
    assert line(text, "rows in") == "rows in 3,000 6,000"
    assert line(text, "state") == "state 2.5 MB"
    assert line(text, "time") == "time 500 ms 2.00 s"  # each takes half a second
    assert "held back: no events have come" in text
    assert "the query has ended" in text


def test_a_query_that_ran_on_spark_has_a_line_for_each_number_that_it_reports() -> None:
    text = text_of(FakeQuery.ended(recorded(), name="rides"))
    # of the last micro-batch, and of all four
    assert line(text, "rows in").endswith(" 1 7")
    assert line(text, "late").endswith(" 0 1")
    assert line(text, "windows closed").endswith(" 2 4")
    for label in ("watermark", "behind the newest start", "output behind it", "windows open", "keys held"):
        assert line(text, label)
    assert line(text, "in longest")
    assert "retractions" not in text
    assert "rides has ended" in text


def test_the_watermark_of_a_source_stays_when_a_micro_batch_has_no_rows() -> None:
    minute = 60_000_000
    metrics = {"watermark": minute, "watermark_bikes": 2 * minute, "watermark_trams": minute}
    text = text_of(FakeQuery.ended([progress(0, muntin=metrics), progress(1, muntin={})]))
    assert line(text, "source bikes") == "source bikes 1970-01-01 00:02:00"
    assert line(text, "source trams") == "source trams 1970-01-01 00:01:00"


def test_several_queries_in_one_are_shown_each() -> None:
    text = text_of(FakeQuery.ended([progress(0, left={"late": 1}, right={"late": 2})]))
    assert re.findall(r"(\w+): micro-batch 0", text) == ["left", "right"]


def test_a_query_without_any_metrics_is_said_to_have_reported_no_muntin_query() -> None:
    text = text_of(FakeQuery.ended([{"batchId": 0}, {"batchId": 1}], name="other"), is_active=True)
    assert text.strip() == "other runs; it has not reported any Muntin query yet"


def test_a_query_that_fails_is_shown_with_the_first_line_of_why() -> None:
    text = text_of(FakeQuery.ended(BATCHES, error=RuntimeError("a module failed\n  at length")))
    assert text.splitlines()[-1].strip() == "the query has failed: a module failed"


def test_a_name_that_looks_like_markup_is_shown_as_it_is() -> None:
    queries: dict[str, Any] = {"<b>[red]": {"accepted": 1}}
    assert "<b>[red]: micro-batch 0" in text_of(FakeQuery.ended([progress(0, **queries)]))


def test_a_terminal_is_left_with_the_last_picture() -> None:
    query = FakeQuery(BATCHES)
    console = Console(file=StringIO(), record=True, width=100)
    watch_on(query, Live(console=console, auto_refresh=False), refresh=1, pause=no_pause)

    text = console.export_text()
    assert line(text, "rows in") == "rows in 3,000 6,000"
    assert "the query has ended" in text
    assert query.looks == len(BATCHES) + 1, "it looks until the query has ended"


@pytest.mark.parametrize(("refresh", "pauses"), [(0.05, [0.05]), (0.25, [0.1, 0.1, 0.05])])
def test_between_looks_it_waits_for_as_long_as_it_is_told_a_tenth_of_a_second_at_a_time(
    refresh: float, pauses: list[float]
) -> None:
    seconds: list[float] = []
    watch_on(FakeQuery(BATCHES[:1]), Live(console=Console(file=StringIO())), refresh, pause=seconds.append)
    assert seconds == pytest.approx(pauses)


def test_ctrl_c_ends_the_watching_and_not_the_query() -> None:
    def press_ctrl_c(_: float) -> None:
        signal.raise_signal(signal.SIGINT)

    query = FakeQuery(BATCHES)
    handler = signal.getsignal(signal.SIGINT)
    console = Console(file=StringIO(), record=True, width=100)
    watch_on(query, Live(console=console, auto_refresh=False), refresh=1, pause=press_ctrl_c)

    assert console.export_text().splitlines()[-1].strip() == "the query runs"
    assert query.looks == 1
    assert signal.getsignal(signal.SIGINT) is handler, "the handler that was there is there again"


def test_without_rich_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "rich.live", raising=False)
    monkeypatch.setitem(sys.modules, "rich", None)
    with pytest.raises(SetupError, match=re.escape("pip install 'muntin-engine[monitor]'")):
        monitor(FakeQuery(BATCHES))


@pytest.mark.parametrize("refresh", [0, -1, float("nan")])
def test_the_time_between_looks_is_above_zero(refresh: float) -> None:
    with pytest.raises(ValueError, match="above zero, got"):
        monitor(FakeQuery(BATCHES), refresh=refresh)


MINUTE = 60_000_000
EIGHT = 1_714_550_400_000_000


def session(*histories: Sequence[Mapping[str, Any]], name: str | None = None) -> Any:
    """Return a session that runs a Spark query for each of these histories of progress, `id-0`, `id-1` and so on."""
    active = [
        SimpleNamespace(id=f"id-{place}", runId=f"run-{place}", name=name, recentProgress=history)
        for place, history in enumerate(histories)
    ]
    return SimpleNamespace(streams=SimpleNamespace(active=active))


def running_query(*batches: Mapping[str, Any], name: str | None = None) -> RunningQuery:
    """Return the only query of a session, as `queries` lists it after these micro-batches."""
    (query,) = queries(session(batches, name=name))
    return query


def test_two_unnamed_queries_of_one_session_are_told_apart() -> None:
    first_history = [progress(muntin={"accepted": 3})]
    second_history = [progress(muntin={"accepted": 5})]
    first, second = queries(session(first_history, second_history))

    assert first.name == second.name == "muntin"
    assert (first.query_id, first.run_id) == ("id-0", "run-0")
    assert (second.query_id, second.run_id) == ("id-1", "run-1")
    assert first.rows_per_second == 6  # a batch takes half a second
    assert second.rows_per_second == 10


def test_the_pace_is_that_of_all_kept_batches_with_the_time_between_them() -> None:
    # One batch starts each second, and the last one ends half a second after its start.
    running = running_query(*(progress(number, muntin={"accepted": 10}) for number in range(4)))
    assert running.rows_per_second == 40 / 3.5


def test_a_query_says_what_its_results_wait_for() -> None:
    metrics = {
        "accepted": 9,
        "newest": EIGHT,
        "watermark": EIGHT - 10 * MINUTE,
        "output_watermark": EIGHT - 40 * MINUTE,
        "state_bytes": 2_400_000,
        "keys_held": 1312,
    }
    running = running_query(progress(4, muntin=metrics), name="rides")
    assert str(running).splitlines() == [
        "muntin (Spark query 'rides', id-0, run run-0)",
        "  rows       18.0 a second; micro-batch 4 took 500 ms",
        "  watermark  2024-05-01 07:50:00, 10 min behind the newest start",
        "  state      2.4 MB, 1,312 keys",
        "  held back  the watermark is 10 min behind the newest start: that is its delay, or punctuation is missing",
        "             the output is 30 min behind the watermark: windows from 2024-05-01 07:20:00 on are open",
    ]
    assert repr(running) == str(running)


@pytest.mark.parametrize(
    ("microseconds", "reason"),
    [
        (
            {"evaluate_us": 400_000, "module_us:longest": 300_000},
            "module longest takes 300 ms of the 500 ms of the last micro-batch",
        ),
        ({"evaluate_us": 400_000, "module_us:longest": 3_000}, "stage evaluate takes 400 ms"),
        ({"evaluate_us": 40_000}, "Spark itself takes 460 ms"),
    ],
    ids=["module", "stage", "spark"],
)
def test_what_takes_most_of_a_batch_is_named(microseconds: dict[str, int], reason: str) -> None:
    (held_back_by,) = running_query(progress(muntin={"newest": 1, "watermark": 1, **microseconds})).held_back_by
    assert held_back_by.startswith(reason)


def test_a_query_without_a_micro_batch_says_so_and_has_no_name_and_no_lag() -> None:
    running = running_query()
    assert running.held_back_by == ("no micro-batch has ended yet",)
    assert running.name is None
    assert running.lag is None


def test_a_query_says_whether_its_input_has_begun_reported_progress_or_ended() -> None:
    before_events = running_query(progress(muntin={"accepted": 0}))
    assert before_events.held_back_by == ("no events have come",)

    without_progress = running_query(progress(muntin={"newest": 5}))
    assert without_progress.held_back_by[0].startswith("nothing has said yet how complete")

    at_the_end = running_query(progress(muntin={"newest": 5, "watermark": INFINITY}))
    assert at_the_end.held_back_by == ("its input has ended",)


def test_a_query_without_metrics_of_muntin_is_not_listed() -> None:
    foreign_progress = {"batchId": 0, "observedMetrics": {"theirs": {"rows": 1}}}
    assert queries(session([foreign_progress])) == []


def test_two_queries_in_one_spark_query_are_listed_each() -> None:
    listed = queries(session([progress(left={}, right={})]))
    assert [query.name for query in listed] == ["left", "right"]
