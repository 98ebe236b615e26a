"""Python states of sessions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.slices.modules import State

States: TypeAlias = npt.NDArray[np.object_]
"""The states of one module."""


@dataclass(frozen=True, slots=True)
class StateSessions:
    """n sessions with their states.

    Attributes:
        slices: Where each starts.
        keys: The code of each session's key.
        lasts: Where each ends.
        states: By module, n states.
    """

    slices: IntArray
    keys: IntArray
    lasts: IntArray
    states: tuple[States, ...]

    def __len__(self) -> int:
        return len(self.slices)

    def take(self, places: IntArray) -> StateSessions:
        """Return some of them."""
        states = tuple(column[places] for column in self.states)
        return StateSessions(self.slices[places], self.keys[places], self.lasts[places], states)

    def slice(self, start: int, stop: int) -> StateSessions:
        """Return neighbouring ones."""
        states = tuple(column[start:stop] for column in self.states)
        return StateSessions(self.slices[start:stop], self.keys[start:stop], self.lasts[start:stop], states)

    def with_keys(self, keys: IntArray) -> StateSessions:
        """Return them under other codes."""
        return replace(self, keys=keys)


def concat_states(pieces: Sequence[StateSessions]) -> StateSessions:
    """Return the sessions of all pieces, one piece after the other."""
    return StateSessions(
        np.concatenate([piece.slices for piece in pieces]),
        np.concatenate([piece.keys for piece in pieces]),
        np.concatenate([piece.lasts for piece in pieces]),
        tuple(np.concatenate(columns) for columns in zip(*(piece.states for piece in pieces), strict=True)),
    )


def states_array(states: Iterable[State], count: int) -> States:
    """Return states as an array of objects, whatever they are; NumPy would look into lists."""
    return np.fromiter(states, np.object_, count)
