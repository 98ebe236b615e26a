"""Nothing that computes results reads a clock: what time it is comes with the rows, so that a batch can be repeated."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = [ROOT / "sdk/src", ROOT / "engine/src", *sorted(ROOT.glob("plugins/*/src"))]
CLOCKS = {"time", "time_ns", "monotonic", "monotonic_ns", "now", "utcnow", "today", "localtime", "gmtime"}
READERS = {
    "muntin_engine/spark/clock.py": "the one reading per micro-batch that becomes a row of the input",
    "muntin_engine/workers/watchdog.py": "for how long a call of a module has lasted",
    "muntin_engine/workers/traces.py": "since when it has",
    "muntin_engine/workers/traces_folder.py": "how long ago a worker that died had a task",
}


def clocks_read(text: str) -> Iterator[str]:
    """Yield the calls of clocks in a file; methods of Muntin's own that are called so, as of a meter, are none."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CLOCKS:
            owner = ast.unparse(node.func.value)
            if owner.rpartition(".")[2] in ("time", "datetime", "date"):
                yield f"{owner}.{node.func.attr}"


def test_only_the_clock_and_the_watchdog_ask_what_time_it_is() -> None:
    files = [file for source in SOURCES for file in sorted(source.rglob("*.py"))]
    assert len(files) > 300
    found = {
        file.as_posix().partition("/src/")[2] for file in files if any(clocks_read(file.read_text(encoding="utf-8")))
    }
    assert found == set(READERS)


def test_a_clock_is_found() -> None:
    text = "import time\nfrom datetime import datetime\nstarted = time.time_ns()\ndatetime.now()\nmeter.now()\n"
    assert list(clocks_read(text)) == ["time.time_ns", "datetime.now"]
