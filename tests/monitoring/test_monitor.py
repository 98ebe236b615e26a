"""Watching a query, in a terminal and in a notebook; the running queries of a session."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from types import ModuleType, SimpleNamespace, TracebackType
from typing import Any

import pytest
from rich.console import Console

from muntin import INFINITY
from muntin_engine import RunningQuery, SetupError, monitor, queries
from muntin_engine.monitoring import watching
from muntin_engine.monitoring.history import Watch
from muntin_engine.monitoring.notebook import NotebookDisplay, html_of, is_notebook, live_html
from muntin_engine.monitoring.terminal import TerminalDisplay, picture
from muntin_engine.monitoring.watching import watch_on
from tests.monitoring.queries import FakeQuery, progress, recorded

BATCHES = [progress(number, muntin={"accepted": 1000 * number, "state_bytes": 2_500_000}) for number in range(4)]


class Pictures:
    """A display that keeps the status of each picture."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def __enter__(self) -> Pictures:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shown.append("left")

    def show(self, watch: Watch) -> None:
        self.shown.append(watch.status)


def text_of(watch: Watch) -> str:
    """Return what a terminal shows of a watched query."""
    console = Console(file=StringIO(), record=True, width=100)
    console.print(picture(watch))
    return console.export_text()


def line(text: str, label: str) -> str:
    """Return the line of a label, with single spaces and without its picture."""
    (found,) = [some for some in text.splitlines() if re.match(rf"│\s+{label}  ", some)]
    return re.sub(r"\s+", " ", re.sub(r"[│▁▂▃▄▅▆▇█]", "", found)).strip()


def seen(query: FakeQuery) -> Watch:
    watch = Watch(query)
    while watch.look():
        pass
    return watch


def never(_: float) -> None:
    """Wait for no time."""


def test_a_terminal_shows_the_last_batch_the_sums_and_how_it_went() -> None:
    text = text_of(seen(FakeQuery(BATCHES)))
    assert "muntin: batch 3" in text
    assert line(text, "rows in") == "rows in 3,000 6,000"
    assert line(text, "size") == "size 2.5 MB"
    assert line(text, "batch") == "batch 500 ms 2.00 s"
    assert "▁▃▆█" in text
    assert "the query has ended" in text


def test_calls_that_ran_long_are_shown_once_there_were_any() -> None:
    slow = {"long_calls:km": 2, "longest_call_us:km": 90_500_000, "long_calls:n": 0}
    batches = [progress(0, muntin=slow), progress(1, muntin={"long_calls:km": 1, "longest_call_us:km": 70_000_000})]
    text = text_of(seen(FakeQuery([*batches, progress(2, muntin={})])))
    assert line(text, "long calls of km") == "long calls of km 0 3"
    assert line(text, "longest call of km") == "longest call of km - 1 min 30 s"
    assert "calls of n" not in text


def test_a_recorded_query_has_all_its_lines() -> None:
    text = text_of(seen(FakeQuery(recorded(), name="rides")))
    assert line(text, "rows in").endswith(" 1 7")
    assert line(text, "late").endswith(" 0 1")
    assert line(text, "windows closed").endswith(" 2 4")
    for label in ("watermark", "watermark behind newest", "output behind input", "windows open", "keys held"):
        assert line(text, label)
    assert line(text, "in longest")
    assert "retractions" not in text
    assert "rides has ended" in text


def test_several_queries_in_one_are_shown_each() -> None:
    text = text_of(seen(FakeQuery([progress(0, left={"late": 1}, right={"late": 2})])))
    assert re.findall(r"(\w+): batch 0", text) == ["left", "right"]


def test_a_query_that_reports_nothing_is_said_to() -> None:
    watch = Watch(FakeQuery([{"batchId": 0}, {"batchId": 1}], name="other"))
    watch.look()
    assert text_of(watch).strip() == "other runs; it has not reported any Muntin query yet"


def test_a_query_that_fails_is_shown_with_the_first_line_of_why() -> None:
    watch = seen(FakeQuery(BATCHES, error=RuntimeError("a module failed\n  at length")))
    assert watch.status == "the query has failed: a module failed"


def test_names_are_shown_as_they_are() -> None:
    queries: dict[str, Any] = {"<b>[red]": {"accepted": 1}}
    watch = seen(FakeQuery([progress(0, **queries)]))
    assert "<b>[red]: batch 0" in text_of(watch)
    assert "&lt;b&gt;[red]: batch 0" in html_of(watch)


def test_watching_shows_each_look_and_ends_with_the_query() -> None:
    pictures = Pictures()
    watch_on(Watch(FakeQuery(BATCHES)), pictures, refresh=1, pause=never)
    assert pictures.shown == ["the query runs"] * 4 + ["the query has ended", "left"]


@pytest.mark.parametrize(("refresh", "pauses"), [(0.05, [0.05]), (0.25, [0.1, 0.1, 0.05])])
def test_between_looks_it_waits_for_as_long_as_it_is_told(refresh: float, pauses: list[float]) -> None:
    waited: list[float] = []
    watch_on(Watch(FakeQuery(BATCHES[:1])), Pictures(), refresh, waited.append)
    assert waited == pytest.approx(pauses)


def test_ctrl_c_ends_the_watching_and_not_the_query() -> None:
    def interrupt(_: float) -> None:
        signal.raise_signal(signal.SIGINT)

    query, pictures, before = FakeQuery(BATCHES), Pictures(), signal.getsignal(signal.SIGINT)
    watch_on(Watch(query), pictures, refresh=1, pause=interrupt)
    assert pictures.shown == ["the query runs", "the query goes on; nobody watches it any more", "left"]
    assert query.looks == 1
    assert signal.getsignal(signal.SIGINT) is before


def test_a_terminal_is_left_with_the_last_picture() -> None:
    console = Console(file=StringIO(), record=True, width=100)
    watch_on(Watch(FakeQuery(BATCHES)), TerminalDisplay(console), refresh=1, pause=never)
    assert line(console.export_text(), "rows in") == "rows in 3,000 6,000"


def test_without_rich_a_terminal_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "find_spec", lambda name: None)
    with pytest.raises(SetupError, match=re.escape("pip install 'muntin-engine[monitor]'")):
        monitor(FakeQuery(BATCHES))


@pytest.mark.parametrize("refresh", [0, -1, float("nan")])
def test_the_time_between_looks_is_above_zero(refresh: float) -> None:
    with pytest.raises(ValueError, match="above zero, got"):
        monitor(FakeQuery(BATCHES), refresh=refresh)


class ZMQInteractiveShell:
    """As Jupyter's shell is called."""


@contextmanager
def notebook(monkeypatch: pytest.MonkeyPatch, shell: Callable[[], Any]) -> Iterator[list[str]]:
    """Stand in for IPython; yield the HTML that is shown."""
    shown: list[str] = []

    class Handle:
        def update(self, what: Any) -> None:
            shown.append(what._repr_html_())

    def display(what: Any, *, display_id: bool) -> Handle:
        assert display_id
        shown.append(what._repr_html_())
        return Handle()

    package, module = ModuleType("IPython"), ModuleType("IPython.display")
    vars(package)["get_ipython"], vars(module)["display"] = shell, display
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    yield shown


def test_a_notebook_shows_a_table_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    with notebook(monkeypatch, ZMQInteractiveShell) as shown:
        watch_on(Watch(FakeQuery(BATCHES)), NotebookDisplay(), refresh=1, pause=never)
    assert len(shown) == 5
    assert "<h4>muntin: batch 3</h4>" in shown[-1]
    assert re.search(r"rows in</td><td[^>]*>3,000</td><td[^>]*>6,000</td>", shown[-1])


@pytest.mark.parametrize(("shell", "is_one"), [(ZMQInteractiveShell, True), (object, False), (lambda: None, False)])
def test_a_notebook_is_known_by_its_shell(
    monkeypatch: pytest.MonkeyPatch, shell: Callable[[], Any], is_one: bool
) -> None:
    with notebook(monkeypatch, shell):
        assert is_notebook() is is_one
    monkeypatch.delitem(sys.modules, "IPython")
    assert not is_notebook()


MINUTE = 60_000_000
EIGHT = 1_714_550_400_000_000


def session(*batches: Sequence[Mapping[str, Any]], name: str | None = None) -> Any:
    active = [
        SimpleNamespace(id=f"id-{place}", runId=f"run-{place}", name=name, recentProgress=some)
        for place, some in enumerate(batches)
    ]
    return SimpleNamespace(streams=SimpleNamespace(active=active))


def only(*batches: Mapping[str, Any], name: str | None = None) -> RunningQuery:
    (found,) = queries(session(batches, name=name))
    return found


def test_a_running_query_shows_its_metrics_in_a_notebook_as_of_now() -> None:
    shown = live_html(FakeQuery(recorded(), name="rides"))
    assert "<table>" in shown
    assert "rows in" in shown
    assert "rides runs" in shown


def test_two_unnamed_queries_of_one_session_are_told_apart() -> None:
    one, other = queries(session([progress(muntin={"accepted": 3})], [progress(muntin={"accepted": 5})]))
    assert (one.name, other.name) == ("muntin", "muntin")
    assert (one.query_id, one.run_id, other.query_id) == ("id-0", "run-0", "id-1")
    assert (one.rows_per_second, other.rows_per_second) == (6, 10)  # a batch takes half a second


def test_the_pace_is_that_of_all_kept_batches_with_the_time_between_them() -> None:
    found = only(*(progress(number, muntin={"accepted": 10}) for number in range(4)))  # one starts each second
    assert found.rows_per_second == 40 / 3.5


def test_a_query_says_what_its_results_wait_for() -> None:
    metrics = {
        "accepted": 9,
        "newest": EIGHT,
        "watermark": EIGHT - 10 * MINUTE,
        "output_watermark": EIGHT - 40 * MINUTE,
    }
    found = only(progress(4, muntin={**metrics, "state_bytes": 2_400_000, "keys_held": 1312}), name="rides")
    assert str(found).splitlines() == [
        "muntin (Spark query 'rides', id-0, run run-0)",
        "  rows       18.0 a second; micro-batch 4 took 500 ms",
        "  watermark  2024-05-01 07:50:00, 10 min behind the newest start",
        "  state      2.4 MB, 1,312 keys",
        "  held back  the watermark is 10 min behind the newest start: that is its delay, or punctuation is missing",
        "             the output is 30 min behind the watermark: windows from 2024-05-01 07:20:00 on are open",
    ]
    assert repr(found) == str(found)


def test_what_takes_most_of_a_batch_is_named() -> None:
    module = {"evaluate_us": 400_000, "module_us:longest": 300_000}
    assert only(progress(muntin={"newest": 1, "watermark": 1, **module})).held_back_by == (
        "module longest takes 300 ms of the 500 ms of the last micro-batch",
    )
    stage = {"evaluate_us": 400_000, "module_us:longest": 3_000}
    assert (
        "stage evaluate takes 400 ms" in only(progress(muntin={"newest": 1, "watermark": 1, **stage})).held_back_by[0]
    )
    spark = {"evaluate_us": 40_000}
    assert "Spark itself takes 460 ms" in only(progress(muntin={"newest": 1, "watermark": 1, **spark})).held_back_by[0]


def test_a_query_that_has_not_begun_or_not_heard_of_its_input_or_has_ended_says_so() -> None:
    assert only().held_back_by == ("no micro-batch has ended yet",)
    assert (only().name, only().lag) == (None, None)
    assert only(progress(muntin={"accepted": 0})).held_back_by == ("no events have come",)
    assert only(progress(muntin={"newest": 5})).held_back_by[0].startswith("nothing has said yet how complete")
    assert only(progress(muntin={"newest": 5, "watermark": INFINITY})).held_back_by == ("its input has ended",)


def test_a_query_of_others_is_left_out_and_several_in_one_have_an_entry_each() -> None:
    theirs = {"batchId": 0, "observedMetrics": {"theirs": {"rows": 1}}}
    assert queries(session([theirs])) == []
    assert [found.name for found in queries(session([progress(left={}, right={})]))] == ["left", "right"]
