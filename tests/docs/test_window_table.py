"""The table that sets Muntin's windows beside those of other systems has all of them."""

from __future__ import annotations

import re
from inspect import isfunction, signature
from pathlib import Path

import muntin
from muntin import rows as row_windows

PAGE = Path(__file__).parents[2] / "docs/how-to/choose-a-window.md"
SYSTEMS = ["Flink", "Beam", "Kafka Streams", "Spark", "StreamInsight"]


def rows() -> list[list[str]]:
    section = PAGE.read_text(encoding="utf-8").partition("## The same windows elsewhere\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def functions_that_make_windows() -> set[str]:
    public = {name: getattr(room, name) for room in (muntin, row_windows) for name in room.__all__}
    made = {name: str(signature(of).return_annotation) for name, of in public.items() if isfunction(of)}
    return {name for name, kind in made.items() if re.search(r"(Windows|Rows|Batches|Between|Specification)$", kind)}


def test_every_function_that_makes_windows_has_a_row_with_all_systems() -> None:
    header, rule, *body = rows()
    assert header[1:] == SYSTEMS
    assert set(rule) == {"---"}
    named = {name for row in body for name in re.findall(r"(\w+)\(", row[0])}
    assert named == functions_that_make_windows()
    assert len(named) > 10
    assert all(len(row) == len(header) and all(row) for row in body)
