"""The states of a query's modules as a checkpoint keeps them for the windows of a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from muntin import Window
from muntin_engine.core.codec import Codec
from muntin_engine.core.computation import Computation
from muntin_engine.core.editions import Edition, is_outdated
from muntin_engine.core.query import WindowedQuery


class KeptStates:
    """Writes and reads states, each module's for itself, whichever edition of the query wrote them.

    Cost: a state of an older version is upgraded when its key is touched, and written in today's shape with that key.

    Attributes:
        edition: The number of the edition that writes.
    """

    def __init__(self, query: WindowedQuery, codec: Codec, editions: Sequence[Edition] = (Edition(),)) -> None:
        """Prepare for the states of a query.

        Args:
            query: The query.
            codec: How states are written.
            editions: Those that may have written what is read, the present one last.
        """
        self.edition: Final = len(editions) - 1
        self._codec = codec
        self._editions = editions
        self._computations = [Computation(binding, query.clip) for binding in query.bindings]

    def pack(self, states: Sequence[Sequence[Any]]) -> list[bytes]:
        """Return the states of windows, of each one state per module or none, as bytes per module."""
        if not any(states):
            return []
        return [
            self._codec.pack([some[place] if some else None for some in states])
            for place in range(len(self._computations))
        ]

    def unpack(self, packed: Sequence[bytes], edition: int, key: object, windows: Sequence[Window]) -> list[list[Any]]:
        """Return what `pack` was given; a window without states has none again.

        Args:
            packed: What it returned.
            edition: The number of the edition that wrote it.
            key: Whose windows they are.
            windows: The windows.

        Raises:
            ModuleFailedError: A module's `upgrade_state` raised an exception.
        """
        if not packed:
            return [[] for _ in windows]
        columns = [self._column(place, data, edition, key, windows) for place, data in enumerate(packed)]
        return [list(some) if any(state is not None for state in some) else [] for some in zip(*columns, strict=True)]

    def _column(self, place: int, data: bytes, edition: int, key: object, windows: Sequence[Window]) -> list[Any]:
        computation = self._computations[place]
        if edition == self.edition or not is_outdated(computation.module, self._editions[edition].versions[place]):
            states: list[Any] = self._codec.unpack(data)
            return states
        version = self._editions[edition].versions[place]
        return [
            None if state is None else computation.upgrade(state, version, key, window)
            for state, window in zip(self._codec.reading_fields().unpack(data), windows, strict=True)
        ]
