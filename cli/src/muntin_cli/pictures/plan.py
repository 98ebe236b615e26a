"""The plan of a query as a picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from textwrap import wrap
from typing import Final, Literal, Protocol

from muntin_cli.pictures.diagram import Arrow, Box, Diagram

_INPUT: Final = frozenset({"key", "order", "where", "events", "progress", "late", "shedding", "forgetting"})
_OUTPUT: Final = frozenset({"output", "lag"})
_LETTERS: Final = 50
_TOPIC: Final = 12
_HALF: Final = 182


class _Planned(Protocol):
    def plan_text(self) -> str: ...


def draw_plan(query: _Planned) -> Diagram:
    """Return what `query.explain()` prints as boxes, from the input to the output; a notebook shows them."""
    rows: list[tuple[Box | Arrow, ...]] = []
    text = query.plan_text()
    for plan in text.split("\n\n"):  # queries whose results the last one reads come before it
        rows += [*([(Arrow("results"),)] if rows else []), *_rows(plan)]
    return Diagram("how a query is evaluated", tuple(rows), text)


def _rows(plan: str) -> Iterator[tuple[Box | Arrow, ...]]:
    topics = [(line[:_TOPIC].strip(), line[_TOPIC:]) for line in plan.splitlines()]
    given = [(topic, text) for topic, text in topics if topic in _INPUT]
    sides = [text.partition(": ")[0] for topic, text in given if topic == "progress"]
    modules = [(text.partition(": ")[0], text.partition(": ")[2]) for topic, text in topics if topic == "module"]
    evaluation = [(topic, text) for topic, text in topics if topic not in _INPUT | _OUTPUT | {"module"}]
    if len(sides) == 1:
        yield (_box("input", given, "plain"),)
        yield (Arrow("events"),)
    else:  # the inputs of a join begin their lines with their names
        of_both = [(topic, text) for topic, text in given if text.partition(": ")[0] not in sides]
        evaluation = [*of_both, *evaluation]
        yield tuple(_side(side, given, number) for number, side in enumerate(sides))
        yield tuple(Arrow("events", 30 + number * (_HALF + 12)) for number in range(len(sides)))
    yield (_box("evaluation", evaluation, "ours"),)
    if modules:
        yield (Arrow("payloads"),)
        yield (_box("modules", modules, "yours"),)
    yield (Arrow("results"),)
    yield (_box("output", [(topic, text) for topic, text in topics if topic in _OUTPUT], "plain"),)


def _side(name: str, given: Iterable[tuple[str, str]], number: int) -> Box:
    own = [(topic, text.removeprefix(f"{name}: ")) for topic, text in given if text.startswith(f"{name}: ")]
    return replace(_box(name, own, "plain", _LETTERS // 2 - 1), left=12 + number * (_HALF + 12), width=_HALF)


def _box(
    title: str, topics: Iterable[tuple[str, str]], look: Literal["plain", "ours", "yours"], letters: int = _LETTERS
) -> Box:
    return Box(title, tuple(line for topic, text in topics for line in wrap(f"{topic}: {text}", letters)), look)
