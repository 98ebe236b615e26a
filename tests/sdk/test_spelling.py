"""Parameters as text: the same in every process, and another text for another value."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from muntin.modules.parameters import spell


class Colour(Enum):
    RED = 1


@dataclass
class Column:
    name: str
    type: str


def above(limit: Any) -> Any:
    return lambda value: value > limit


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("6 hours", "'6 hours'"),
        ([1, (2.0, None)], "[1, [2.0, None]]"),
        (Colour.RED, "Colour.RED"),
        (frozenset({"b", "a"}), "{'a', 'b'}"),
        ({"x": {2, 1}}, "{'x': {1, 2}}"),
        (len, "<builtins.len>"),
        (Column, "<tests.sdk.test_spelling.Column>"),
        (above, "<tests.sdk.test_spelling.above>"),
        (str.upper, "<str.upper>"),
        (object(), "<builtins.object>"),
        (Column("at", "timestamp"), "Column(name='at', type='timestamp')"),
    ],
)
def test_a_parameter_is_spelled_the_same_in_every_process(value: Any, text: str) -> None:
    assert spell(value) == text


def test_functions_without_a_name_to_import_are_told_apart_by_what_they_do() -> None:
    same = [spell(above(1)), spell(above(1))]
    others = [spell(above(2)), spell(above("1")), spell(lambda value: value < 1), spell(lambda value, least=2: value)]
    assert len({*same, *others}) == 5
    assert same[0].startswith("<<lambda> ")


def test_a_function_of_a_script_is_spelled_the_same_in_every_process(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from muntin.modules.parameters import spell\n"
        "labels = object()\n"
        "def known(value, held={'b', 'a', 'c'}):\n"
        "    return labels if value in {'x', 'y', 'z', 'v'} else (lambda: held)\n"
        "print(spell(known))\n"
    )
    runs = [
        subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True).stdout.strip()
        for _ in range(2)
    ]
    assert len(set(runs)) == 1
    assert runs[0].startswith("<known ")
