"""Refinements by a module writer: rules from the results of a window to its output."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar


class ResultRefinement(ABC):
    """Refine the result of a window when its trigger fires, with a state kept from earlier firings.

    Subclass it as a frozen dataclass and pass an instance as the `refinement` of `early`, where no `Refinement` says
    what you want: the change since the last firing, only results that differ by more than a threshold, an average of
    the last firings. It works on the results of aggregates, not on the rows of an operator.

    The engine calls `refine` once each time that the trigger emits a window, and once when the window is final. It
    keeps the *state* that you return with the window, in the checkpoint too, until the window is final. Nothing that
    was emitted is retracted, so a refinement is refused for windows that are cut by events. A window that loses its
    last member is not refined again; if it then gets another member, it starts anew. The column `firing` counts the
    calls, also those that emit nothing.

    Laws (checked by `ResultRefinementLaws`):

    1. *States are plain data*, which a checkpoint can hold, and `refine` leaves the state that it gets as it was.
    2. *The same results are refined alike.* A refinement reads no clock, draws no random number and has no memory but
       its state.
    3. *It emits all columns or none*, each of the type that the module declares.

    Attributes:
        name: The refinement's name in errors and checkpoints.
        version: The refinement's own version; it is stored with a query's state.

    Cost: a call per firing, and the state per open window.

    Source: Onyx, *refinements* (`create-state-update`, `apply-state-update`); here the result is refined, as modules
    keep no state between firings.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Change(ResultRefinement):
        ...     name = "demo.change"
        ...
        ...     def refine(self, state, result, is_final):
        ...         before = state or dict.fromkeys(result, 0)
        ...         return result, {column: value - before[column] for column, value in result.items()}
        >>> state, emitted = Change().refine(None, {"sales": 50}, is_final=False)
        >>> emitted, Change().refine(state, {"sales": 85}, is_final=True)[1]
        ({'sales': 50}, {'sales': 35})
    """

    name: ClassVar[str]
    version: ClassVar[str] = "1"

    @abstractmethod
    def refine(self, state: Any, result: Mapping[str, Any], is_final: bool) -> tuple[Any, Mapping[str, Any] | None]:
        """Refine the results of a window.

        Args:
            state: The state that this refinement returned last for the window; None at first.
            result: The window's results now, by the names of their columns. Do not change the mapping.
            is_final: True if the window is final, so that this is the last call for it.

        Returns:
            The state to keep with the window, and the results to emit, by the names of their columns; None in the place
            of these to emit nothing.
        """
