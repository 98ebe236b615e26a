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
        """Prepare for the states of a query.

        Args:
            query: The query.
            codec: Encodes and decodes the states.
            schema_versions: The versions that may have written them, the present one last.
        """
        self.schema_version: Final = len(schema_versions) - 1
        self._codec = codec
        self._schema_versions = schema_versions
        self._axis = query.axis
        self._query = query

    @property
    def _computations(self) -> Sequence[ModuleComputation]:
        """The modules of the query; they are made when a state is first read or written, once for each query."""
        return self._query.once(WindowResults).computations

    def pack(self, states: Sequence[Sequence[object]], key: object, windows: Sequence[Window]) -> list[bytes]:
        """Encode the module states of windows; return the bytes of each module, or nothing if no window has states.

        Args:
            states: The states of each window: one per module, or none.
            key: The key of the windows, for errors.
            windows: The windows, for errors.

        Raises:
            StateError: A state cannot be stored.
        """
        if not any(states):
            return []
        packed: list[bytes] = []
        for place in range(len(self._computations)):
            module_states = [window_states[place] if window_states else None for window_states in states]
            packed.append(self._pack_module(place, module_states, key, windows))
        return packed

    def unpack(
        self, packed: Sequence[bytes], schema_version: int, key: object, windows: Sequence[Window]
    ) -> list[list[object]]:
        """Return the states that `pack` encoded, upgraded to the present schema version.

        Args:
            packed: The bytes of each module; none if no window has states.
            schema_version: The number of the schema version that encoded them.
            key: The key of the windows.
            windows: The windows.

        Returns:
            The states of each window: one per module, or none.

        Raises:
            ModuleFailedError: A module's `upgrade_state` raised an exception.
        """
        if not packed:
            return [[] for _ in windows]
        columns: list[list[Any]] = []
        for place, data in enumerate(packed):
            columns.append(self._unpack_module(place, data, schema_version, key, windows))
        states: list[list[object]] = []
        for window_states in zip(*columns, strict=True):
            has_state = any(state is not None for state in window_states)
            states.append(list(window_states) if has_state else [])
        return states

    def why_unstorable(self, value: Any, key: object, window: Window) -> StateError | None:
        """Return an error that names the module whose result cannot be stored; None if all can.

        Args:
            value: An emitted value of a window: a row of an operator, or the results of all aggregates.
            key: The key of the window.
            window: The window.
        """
        values = [value] if self._computations[0].module.is_operator else value
        unstorable_value = find_unstorable(values, self._codec)
        if unstorable_value is None:
            return None
        module_place, reason = unstorable_value
        spelled_window = self._axis.spell_interval(window.start, window.end)
        module = self._computations[module_place].module
        return unstorable(module, kind="a result", key=key, window=spelled_window, reason=reason)

    def _pack_module(self, place: int, states: list[object], key: object, windows: Sequence[Window]) -> bytes:
        """Encode the states of the module at a place, one for each window; errors name the key and the window.

        Raises:
            StateError: A state cannot be stored.
        """
        try:
            return self._codec.pack(states)
        except StateError as error:
            unstorable_state = find_unstorable(states, self._codec)
            if unstorable_state is None:
                raise
            window_place, reason = unstorable_state
            window = windows[window_place]
            spelled_window = self._axis.spell_interval(window.start, window.end)
            module = self._computations[place].module
            raise unstorable(module, kind="a state", key=key, window=spelled_window, reason=reason) from error

    def _unpack_module(
        self, place: int, data: bytes, schema_version: int, key: object, windows: Sequence[Window]
    ) -> list[Any]:
        """Decode the states of the module at a place, and upgrade them where an older version wrote them."""
        computation = self._computations[place]
        if schema_version == self.schema_version:
            return self._unpack(data)
        version = self._schema_versions[schema_version].versions[place]
        if not is_outdated(computation.module, computation.module.version, version):
            return self._unpack(data)
        # Records of an older version come as dicts of their fields: the class may have other fields now.
        states: list[Any] = []
        for state, window in zip(self._codec.reading_fields().unpack(data), windows, strict=True):
            states.append(None if state is None else computation.upgrade(state, version, key, window))
        return states

    def _unpack(self, data: bytes) -> list[Any]:
        """Decode the states of a module that need no upgrade."""
        states: list[Any] = self._codec.unpack(data)
        return states
