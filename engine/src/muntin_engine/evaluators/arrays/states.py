"""Python states as values of a batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from muntin.columnar.arrays import IntArray
from muntin_engine.core.calls import RUNNING
from muntin_engine.evaluators.arrays.coding import first_places
from muntin_engine.evaluators.arrays.state_module import ModuleCallError, State, StateModule

Objects: TypeAlias = npt.NDArray[np.object_]
"""n states of one module."""


@dataclass(frozen=True, slots=True)
class States:
    """A state of a module each.

    Attributes:
        module: The module.
        objects: The states.
    """

    module: StateModule
    objects: Objects

    @classmethod
    def of(cls, module: StateModule, states: Iterable[State], count: int) -> States:
        """Return states, whatever they are; NumPy would look into lists."""
        return cls(module, np.fromiter(states, np.object_, count))

    def __len__(self) -> int:
        return len(self.objects)

    @property
    def nbytes(self) -> int:
        """The size of the references: of the states only what is written is known."""
        return self.objects.nbytes

    def take(self, places: IntArray | slice) -> States:
        """Return some of them."""
        return States(self.module, self.objects[places])

    def concat(self, more: Sequence[States]) -> States:
        """Return them and more."""
        return States(self.module, np.concatenate([self.objects, *(other.objects for other in more)]))

    def reduce(self, codes: IntArray, size: int) -> States:
        """Return them combined by code; each code is there. The first state of a code may change, and no other.

        Raises:
            ModuleCallError: The module raised an exception; the place is the code.
        """
        first = first_places(codes, size)
        is_more = np.ones(len(codes), np.bool_)
        is_more[first] = False
        more = np.flatnonzero(is_more)
        others, locate = codes[more].tolist(), RUNNING.locate
        RUNNING.many(self.module.label, None if locate is None else lambda place: locate(others[place]))
        merged = {code: self.objects[first[code]] for code in dict.fromkeys(others)}
        try:
            self.module.combine_into(merged, others, self.objects[more].tolist())
        except ModuleCallError as failure:
            failure.place = others[failure.place]
            raise
        finally:
            RUNNING.locate = locate
        found = self.objects[first]
        found[list(merged)] = np.fromiter(merged.values(), np.object_, len(merged))
        return States(self.module, found)
