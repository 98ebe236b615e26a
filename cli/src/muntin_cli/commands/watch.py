"""`muntin watch`."""

from __future__ import annotations

import json
import time
from typing import Annotated, Any
from urllib.error import URLError
from urllib.parse import urlsplit, urlunsplit
from urllib.request import urlopen

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from muntin_cli.commands.reporting import AsJson, reports_errors
from muntin_cli.errors import EnvironmentLacksError, UsageError
from muntin_cli.exit_codes import ExitCode
from muntin_cli.output import counted, show, show_json

_TIMEOUT = 10
_BARS = "▁▂▃▄▅▆▇█"
_PICTURED = 30


@reports_errors
def watch(
    url: Annotated[str, typer.Argument(help="The address that muntin_engine.serve(spark).url has.")],
    refresh: Annotated[float, typer.Option(min=0.1, help="Seconds between looks.")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Show it once and end, as where output goes to a file.")] = False,
    as_json: AsJson = False,
) -> ExitCode:
    """Show the running queries of a session, and what delays each."""
    console = Console(highlight=False)
    if as_json:
        show_json(_queries(url))
        return ExitCode.OK
    if once or not console.is_terminal:
        with console.capture() as captured:
            console.print(picture(_queries(url)))
        show(captured.get().rstrip("\n"))
        return ExitCode.OK
    try:
        with Live(picture(_queries(url)), console=console, auto_refresh=False) as live:
            while True:
                time.sleep(refresh)
                live.update(picture(_queries(url)), refresh=True)
    except KeyboardInterrupt:
        return ExitCode.OK


def picture(queries: list[dict[str, Any]]) -> RenderableType:
    """Return the queries of a session as rich renders them: a panel for each."""
    return Group(*map(_panel, queries), Text(f"{counted(len(queries), 'query').replace('querys', 'queries')} running"))


def _panel(query: dict[str, Any]) -> Panel:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    if "batch" in query:
        past, totals = query["history"], query["totals"]
        pace, keys = f"{query['rows_per_second']:,.1f} a second", query["keys_held"]
        held = "" if keys is None else f", {keys:,} keys"
        table.add_row("rows", Text(f"{pace}  {_bars(past['accepted'])}"))
        table.add_row("micro-batch", Text(f"{query['batch']} took {query['duration']}  {_bars(past['seconds'])}"))
        table.add_row("watermark", Text(f"{query['watermark']}, {query['lag']} behind the newest start"))
        table.add_row("state", Text(f"{query['state']}{held}  {_bars(past['state_bytes'])}"))
        table.add_row(
            "left out", Text(", ".join(f"{totals[name]:,} {name}" for name in ("late", "rejected", "filtered")))
        )
        for name, source in query["sources"].items():
            rows = "" if source["rows"] is None else f", {source['rows']:,} rows"
            table.add_row(f"source {name}", Text(f"at {source['watermark']}{rows}"))
        for name, seconds in list(query["modules"].items())[:3]:
            table.add_row(f"module {name}", Text(f"{seconds:,.2f} s"))
    for place, text in enumerate(query["held_back_by"]):
        table.add_row("" if place else "held back", Text(text))
    for place, text in enumerate(query["alerts"]):
        table.add_row("" if place else "alerts", Text(text, style="bold red"))
    named = f"Spark query {query['spark_name']!r}, " if query["spark_name"] else ""
    return Panel(table, title=Text(f"{query['name'] or 'a query'} ({named}{query['query_id'][:8]})"), expand=False)


def _bars(values: list[float | None]) -> str:
    known = values[-_PICTURED:]
    top = max((value for value in known if value is not None), default=0) or 1
    return "".join(" " if value is None else _BARS[round(max(value, 0) / top * (len(_BARS) - 1))] for value in known)


def _queries(url: str) -> list[dict[str, Any]]:
    """Return what a session tells of its queries.

    Raises:
        UsageError: The address is none of a session.
        EnvironmentLacksError: Nothing answers there.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise UsageError(
            f"{url!r} is no address\n  expected: what serve(spark).url has, such as http://127.0.0.1:8042/"
        )
    at = urlunsplit((parts.scheme, parts.netloc, "/queries.json", parts.query, ""))
    try:
        with urlopen(at, timeout=_TIMEOUT) as answer:  # the scheme is checked
            found: list[dict[str, Any]] = json.loads(answer.read())
            return found
    except (URLError, OSError, ValueError) as error:
        raise EnvironmentLacksError(
            f"no session answers at {parts.scheme}://{parts.netloc}: {error}\n"
            "  expected: a program that called muntin_engine.serve(spark) and still runs; a token is part of its url"
        ) from error
