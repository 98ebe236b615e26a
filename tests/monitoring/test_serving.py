"""What runs in a session is served on loopback, read-only, and shown by `muntin watch`."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from urllib.error import HTTPError

import pytest
from typer.testing import CliRunner

from muntin.errors import QueryError
from muntin_cli import app
from muntin_engine import alert, batch_metrics
from muntin_engine.monitoring.live import POINTS, LiveQueries
from muntin_engine.monitoring.server import WatchServer
from tests.monitoring.queries import progress

EIGHT = 1_714_550_400_000_000
MINUTE = 60_000_000
METRICS = {
    **{"accepted": 90, "late": 10, "newest": EIGHT, "watermark": EIGHT - 10 * MINUTE, "module_us:longest": 125_000},
    **{"watermark_north": EIGHT - 10 * MINUTE, "watermark_south": EIGHT, "rows_north": 0, "rows_south": 100},
    **{"state_bytes": 2_400_000, "keys_held": 312},
}


def running(*batches: Any, name: str | None = "bikes", number: int = 0) -> Any:
    return SimpleNamespace(id=f"id-{number}", runId=f"run-{number}", name=name, recentProgress=batches)


def session(*active: Any) -> Any:
    return SimpleNamespace(streams=SimpleNamespace(active=list(active)))


@contextmanager
def served(live: LiveQueries, **options: Any) -> Iterator[WatchServer]:
    closed: list[int] = []
    given = {"host": "127.0.0.1", "port": 0, "token": None, **options}
    with WatchServer(live.told, lambda: closed.append(1), **given) as server:
        yield server
    assert closed == [1]


def get(url: str, method: str = "GET", **headers: str) -> tuple[int, str, dict[str, str]]:
    request = urllib.request.Request(url, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read().decode(), dict(answer.headers)
    except HTTPError as error:
        return error.code, error.read().decode(), dict(error.headers)


def muntin(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["watch", *arguments], prog_name="muntin")


def test_queries_are_told_as_data_with_an_hour_of_history() -> None:
    first = progress(0, rides=METRICS)
    some = session(running(first), running(name=None, number=1))
    live = LiveQueries(some, [alert(lag="1 minute")])
    later = progress(1, rides={**METRICS, "late": 0})
    for told in (first, later):
        live.take(batch_metrics({**told, "runId": "run-0", "id": "id-0"})["rides"])
    rides, new = live.told()
    assert (rides["name"], rides["batch"], rides["history"]["late"], rides["totals"]["accepted"]) == (
        "rides",
        1,
        [10, 0],
        180,
    )
    assert rides["sources"]["north"] == {"rows": 0, "late": 0, "watermark": "2024-05-01 07:50:00"}
    assert rides["alerts"] == ("lag is 10 min, above 1 min",)
    assert "the source 'north' is at 2024-05-01 07:50:00" in rides["held_back_by"][0]
    assert (new["name"], new["held_back_by"]) == (None, ("no micro-batch has ended yet",))
    for number in range(2, 500):
        live.take(batch_metrics({**progress(2, rides=METRICS), "batchId": number, "runId": "run-0"})["rides"])
    history = live.told()[0]["history"]
    assert POINTS / 2 < len(history["late"]) <= POINTS
    some.streams.active.clear()
    assert live.told() == []


def test_it_is_served_on_loopback_and_read_only() -> None:
    with served(LiveQueries(session(running(progress(rides=METRICS))))) as server:
        assert server.url.startswith("http://127.0.0.1:")
        code, page, headers = get(server.url)
        assert (code, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
        assert "<title>Muntin queries</title>" in page
        assert "http" not in page.replace("http://www.w3.org/2000/svg", ""), "it asks nobody else for anything"
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        code, text, headers = get(f"{server.url}queries.json")
        assert (code, headers["Content-Type"], json.loads(text)[0]["name"]) == (200, "application/json", "rides")
        assert get(f"{server.url}queries.json", "HEAD")[:2] == (200, "")
        assert get(f"{server.url}metrics")[0] == 404
        assert {get(server.url, method)[0] for method in ("POST", "PUT", "DELETE", "PATCH")} == {501}
        assert get(server.url, Host="elsewhere.example")[0] == 403, "a page of another site that leads here"


def test_a_session_that_has_ended_is_an_answer_and_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    def ended() -> list[Any]:
        raise RuntimeError("the session has ended")

    with WatchServer(ended, lambda: None, "127.0.0.1", 0, None) as server:
        assert get(f"{server.url}queries.json")[:2] == (503, "the session has ended\n")
        assert "HTTP Error 503" in muntin(server.url, "--json").stderr
    assert capsys.readouterr().err == ""


def test_other_machines_need_a_token() -> None:
    live = LiveQueries(session())
    with pytest.raises(QueryError, match=r"host='0\.0\.0\.0' would show the queries"):
        WatchServer(live.told, lambda: None, "0.0.0.0", 0, None)
    with served(live, token="secret") as server:
        address = server.url.partition("?")[0]
        assert get(address)[0] == get(f"{address}?token=wrong")[0] == 403
        assert get(server.url)[0] == get(f"{address}queries.json", Authorization="Bearer secret")[0] == 200
        assert muntin(server.url, "--json").stdout.strip() == "[]"
        assert "HTTP Error 403" in muntin(address, "--json").stderr


def test_a_terminal_shows_each_query_and_what_holds_it_back() -> None:
    live = LiveQueries(session(running(progress(rides=METRICS))), [alert(late=5)])
    with served(live) as server:
        done = muntin(server.url, "--once")
    assert done.exit_code == 0
    shown = " ".join(done.stdout.replace("│", " ").split())
    for text in (
        "rides (Spark query 'bikes', id-0)",
        "2024-05-01 07:50:00, 10 min behind the newest start",
        "2.4 MB, 312 keys",
        "10 late, 0 rejected, 0 filtered",
        "source north at 2024-05-01 07:50:00, 0 rows",
        "late is 10, above 5",
        "1 query running",
    ):
        assert text in shown
    assert "the source 'north' is at" in shown


def test_an_address_without_a_session_is_told_with_what_to_do() -> None:
    with served(LiveQueries(session())) as server:
        address = server.url
    ended = muntin(address, "--once")
    assert (ended.exit_code, "no session answers at http://127.0.0.1" in ended.stderr) == (3, True)
    wrong = muntin("localhost", "--once")
    assert (wrong.exit_code, "'localhost' is no address" in wrong.stderr) == (2, True)
