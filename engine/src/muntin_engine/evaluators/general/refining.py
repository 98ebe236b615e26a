"""Call a refinement of one's own with the results of a window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muntin import ResultRefinement, Window
from muntin.errors import ModuleContractError, ModuleFailedError
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.keyed.computation import WindowResults
from muntin_engine.evaluators.keyed.live_output import OutputRow


class RefinementCall:
    """Calls a refinement for windows that fire or close. An exception names the refinement, key and window."""

    def __init__(self, query: EvaluatorQuery, refinement: ResultRefinement) -> None:
        self._refinement = refinement
        self._names = [binding.name for binding in query.bindings]
        self._extent = query.once(WindowResults).extent

    def refine(
        self, key: object, window: Window, state: Any, rows: list[OutputRow], *, is_final: bool
    ) -> tuple[Any, list[OutputRow]]:
        """Return the state to keep of a window, and the rows to emit of it.

        Args:
            key: The window's key.
            window: The window.
            state: The state that was kept of it; None at first.
            rows: Its results: one row, or none if the timestamping policy leaves it out.
            is_final: True if it is final.

        Raises:
            ModuleFailedError: The refinement raised an exception.
            ModuleContractError: It did not return a state and a value for each column, or None.
        """
        refined: list[OutputRow] = []
        for row in rows:
            result = dict(zip(self._names, row.value, strict=True))
            state, emitted = self._call(
                key, window if self._extent is None else self._extent(window), state, result, is_final
            )
            if emitted is not None:
                refined.append(row._replace(value=tuple(emitted[name] for name in self._names)))
        return state, refined

    def _call(
        self, key: object, window: Window, state: Any, result: Mapping[str, Any], is_final: bool
    ) -> tuple[Any, Mapping[str, Any] | None]:
        named = self._refinement
        try:
            answer: Any = named.refine(state, result, is_final)
        except Exception as error:
            raise ModuleFailedError(named.name, named.version, key, window, "refine", error) from error
        if isinstance(answer, tuple) and len(answer) == 2:
            emitted = answer[1]
            if emitted is None or (isinstance(emitted, Mapping) and emitted.keys() == set(self._names)):
                return answer
        raise ModuleContractError(
            f"the refinement {named.name} {named.version} answered {answer!r} for the window "
            f"[{window.start}, {window.end})\n"
            f"  expected: a pair of its state and a dict with {', '.join(self._names)}, or None instead of the dict"
        )
