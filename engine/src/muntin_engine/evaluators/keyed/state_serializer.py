"""The module states of windows as bytes, module by module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from muntin import Window
from muntin_engine.errors import StateError
from muntin_engine.evaluators.keyed.computation import ModuleComputation, WindowResults
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.state.codec import Codec
from muntin_engine.state.schema_versions import SchemaVersion, is_outdated
from muntin_engine.state.unstorable import find_unstorable, unstorable


class StateSerializer:
    """Serializes the module states of windows, and reads those of older schema versions too.

    The states of each module are encoded by themselves, so that an error names the module.

    Cost: a state of an older schema version is upgraded when its key is touched, and then written in the present one.

    Attributes:
        schema_version: The number of the present schema version.
    """

    def __init__(
        self,
        query: EvaluatorQuery,
        codec: Codec,
        schema_versions: Sequence[SchemaVersion] = (SchemaVersion(),),
    ) -> None:
        """Prepare for the states of a query, that some versions may have written, the present one last."""
        self.schema_version: Final = len(schema_versions) - 1
        self._codec = codec
        self._schema_versions = schema_versions
        self._axis = query.axis
        self._query = query

    @property
    def _computations(self) -> Sequence[ModuleComputation]:
        return self._query.once(WindowResults).computations

    def pack(self, states: Sequence[Sequence[object]], key: object, windows: Sequence[Window]) -> list[bytes]:
        """Encode the module states of windows, one per module or none for each; return the bytes of each module.

        Raises:
            StateError: A state cannot be stored.
        """
        if not any(states):
            return []
        return [
            self._packed(place, [some[place] if some else None for some in states], key, windows)
            for place in range(len(self._computations))
        ]

    def unpack(
        self, packed: Sequence[bytes], schema_version: int, key: object, windows: Sequence[Window]
    ) -> list[list[object]]:
        """Return the states that `pack` encoded, upgraded to the present schema version.

        Raises:
            ModuleFailedError: A module's `upgrade_state` raised an exception.
        """
        if not packed:
            return [[] for _ in windows]
        columns = [self._column(place, data, schema_version, key, windows) for place, data in enumerate(packed)]
        return [list(some) if any(state is not None for state in some) else [] for some in zip(*columns, strict=True)]

    def why_unstorable(self, value: Any, key: object, window: Window) -> StateError | None:
        """Return an error that names the module whose result cannot be stored; None if all can.

        Args:
            value: An emitted value of a window: a row of an operator, or the results of all aggregates.
            key: The key of the window.
            window: The window.
        """
        values = [value] if self._computations[0].module.is_operator else value
        found = find_unstorable(values, self._codec)
        if found is None:
            return None
        module, spelled = self._computations[found[0]].module, self._axis.spell_interval(window.start, window.end)
        return unstorable(module, "a result", key, spelled, found[1])

    def _packed(self, place: int, states: list[object], key: object, windows: Sequence[Window]) -> bytes:
        try:
            return self._codec.pack(states)
        except StateError as error:
            found = find_unstorable(states, self._codec)
            if found is None:
                raise
            number, reason = found
            spelled = self._axis.spell_interval(windows[number].start, windows[number].end)
            raise unstorable(self._computations[place].module, "a state", key, spelled, reason) from error

    def _column(
        self, place: int, data: bytes, schema_version: int, key: object, windows: Sequence[Window]
    ) -> list[Any]:
        computation = self._computations[place]
        if schema_version == self.schema_version or not is_outdated(
            computation.module, self._schema_versions[schema_version].versions[place]
        ):
            states: list[Any] = self._codec.unpack(data)
            return states
        version = self._schema_versions[schema_version].versions[place]
        return [
            None if state is None else computation.upgrade(state, version, key, window)
            for state, window in zip(self._codec.reading_fields().unpack(data), windows, strict=True)
        ]
