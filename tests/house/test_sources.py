"""Rules of source files: one name for one thing, no clock where results are computed."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES: dict[str, str] = {}
for source_folder in ("sdk/src", "engine/src", "cli/src"):
    for source_file in sorted((ROOT / source_folder).rglob("*.py")):
        if "template" not in source_file.parts:
            SOURCES[str(source_file.relative_to(ROOT))] = source_file.read_text(encoding="utf-8")
NAMES_OF_THE_ORACLE = {"Computation", "WindowedQuery"}
"""Names of classes that module writers know from `muntin.testing`; the engine has others."""


def classes_of_one_name(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the files of the classes that share a name, by that name without an underscore before it."""
    places: dict[str, list[str]] = defaultdict(list)
    for file, source in sources.items():
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")].append(file)
    return {name: files for name, files in places.items() if len(files) > 1}


def test_no_two_classes_have_one_name() -> None:
    assert len(SOURCES) > 400
    assert classes_of_one_name(SOURCES) == {}


def test_the_engine_has_other_names_than_the_oracle() -> None:
    for file, source in SOURCES.items():
        if file.startswith("engine/"):
            classes = {node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)}
            assert not classes & NAMES_OF_THE_ORACLE, file


def test_two_classes_of_one_name_are_found() -> None:
    sources = {"a.py": "class Line: ...", "b.py": "class _Line: ...\nclass Other: ...", "c.py": "x = 1"}
    assert classes_of_one_name(sources) == {"Line": ["a.py", "b.py"]}


CLOCKS = {"time", "time_ns", "monotonic", "monotonic_ns", "now", "utcnow", "today", "localtime", "gmtime"}
READERS_OF_CLOCKS = {
    "muntin_engine/backends/local/streams/clock.py": "the one reading a micro-batch of a stream in this process",
    "muntin_engine/backends/spark/inputs/clock_source.py": "the one reading a micro-batch that becomes a row",
    "muntin_engine/workers/traces.py": "when a task of a worker began and ended",
    "muntin_engine/workers/traces_folder.py": "how long a task has run, and how long ago a worker that died had one",
}


def clocks_read(text: str) -> Iterator[str]:
    """Yield the calls of clocks in a source; a method of another object with such a name, as of a meter, is none."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CLOCKS:
            owner = ast.unparse(node.func.value)
            if owner.rpartition(".")[2] in ("time", "datetime", "date"):
                yield f"{owner}.{node.func.attr}"


def test_only_the_clock_and_the_traces_of_workers_ask_what_time_it_is() -> None:
    folders = (ROOT / "sdk/src", ROOT / "engine/src", *ROOT.glob("plugins/*/src"))
    file_count = 0
    readers: set[str] = set()
    for folder in folders:
        for file in folder.rglob("*.py"):
            file_count += 1
            if any(clocks_read(file.read_text(encoding="utf-8"))):
                readers.add(file.as_posix().partition("/src/")[2])
    assert file_count > 300
    assert readers == set(READERS_OF_CLOCKS)


def test_calls_of_clocks_are_found_and_those_of_methods_with_such_names_are_not() -> None:
    text = "import time\nfrom datetime import datetime\nstarted = time.time_ns()\ndatetime.now()\nmeter.now()\n"
    assert list(clocks_read(text)) == ["time.time_ns", "datetime.now"]
