"""What a kind of torture is: plain data, so that a list of them can be extended."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias, cast

Figures: TypeAlias = Mapping[str, int]
"""What a trial went through, by name: streams, restarts, kills. The table at the end adds them up."""

Trial: TypeAlias = Callable[[int, Path], Figures]
"""Runs one trial from a seed, in an empty folder of its own; raises if anything was not as it must be."""


class Lane(StrEnum):
    """Kinds of one lane take turns in one process; lanes run side by side."""

    PYTHON = "python"
    """Without Spark: thousands of trials a minute."""
    SPARK = "spark"
    """With a Spark session, or with processes that have one."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of torture.

    Attributes:
        name: Name in a word, for `KIND=` and the table.
        description: Sentence about the trial and about the law that must hold.
        lane: Lane that runs it.
        share: Share of its lane's time, compared with the other kinds of the lane.
        trial: Place of its `Trial`, as `module:function`.
        seconds: Number of seconds after which a trial is taken for hung.
    """

    name: str
    description: str
    lane: Lane
    share: int
    trial: str
    seconds: int = 120

    def load(self) -> Trial:
        """Import the trial."""
        module, _, function = self.trial.partition(":")
        return cast("Trial", getattr(importlib.import_module(module), function))


def load_kinds(place: str) -> tuple[Kind, ...]:
    """Import a list of kinds from `module:NAME`.

    Raises:
        ValueError: There is no such list, or it has no kinds.
    """
    module, _, name = place.partition(":")
    kinds = getattr(importlib.import_module(module), name or "KINDS", ())
    if not kinds or not all(isinstance(kind, Kind) for kind in kinds):
        raise ValueError(f"{place!r} is no list of kinds\n  give module:NAME, the place of a list of Kind")
    return tuple(kinds)
