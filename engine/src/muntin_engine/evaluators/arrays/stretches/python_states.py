"""Python states as values of a batch, and the module that keeps them, called for many keys at once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from muntin import Module, Window
from muntin.columnar.arrays import IntArray
from muntin.errors import ModuleFailedError
from muntin.errors.safe_text import safe_cause
from muntin.modules.aggregate import rows_of
from muntin_engine.evaluators.arrays.stretches.coding import first_places
from muntin_engine.modules.binding import Binding
from muntin_engine.modules.current_call import CURRENT_CALL
from muntin_engine.modules.skipping import Payloads, payloads_of
from muntin_engine.time.changes import Key

State: TypeAlias = Any
"""A module's own state."""

_ABSENT: Final = object()
"""Stands for no state: None may be one."""


class ModuleCallError(Exception):
    """A module raised an exception, which is the cause of this one.

    It never leaves evaluation on arrays: there the key and the window are found that the call was for, see `located`.

    Attributes:
        place: The place of the group, of those that the method was called for.
    """

    def __init__(self, module: Module, method: str, place: int = 0) -> None:
        """Name the module, its method and the place of the group."""
        super().__init__(method)  # the text if the error should ever leave evaluation on arrays
        self.place = place
        self._module = module
        self._method = method

    def located(self, key: Key, window: Window) -> ModuleFailedError:
        """Return the error that tells the query writer where the module failed."""
        cause = self.__cause__ or self
        error = ModuleFailedError(self._module.name, self._module.version, key, window, self._method, cause)
        error.__cause__ = cause
        return error


class StateModule:
    """An incremental module, as evaluation on arrays calls it.

    States are merged as the laws of `combine` allow: the first may change and is replaced by what is returned, the
    second stays as it is. The methods for many states measure their calls of the module; a caller of the methods for
    one state measures these itself, many at a time.

    Attributes:
        module: The module.
        can_deduct: True if a merge can be undone.
        meter: Measures its calls.
    """

    def __init__(self, binding: Binding) -> None:
        """Take a module as a query binds it."""
        module: Any = binding.module
        self.module: Any = module
        self._called = binding.called
        self._counts_accepted = self._called is not module
        """True if the module may skip payloads: it is called through a wrapper that counts those that it accepts."""
        self._is_operator = binding.module.is_operator
        self.can_deduct = hasattr(module, "deduct")
        self.meter = binding.meter
        self.label = f"{binding.module.name} {binding.module.version}"
        self._select = binding.select

    def payloads(self, columns: Sequence[list[Any]], count: int) -> Payloads:
        """Return the payloads of rows that are given as columns of all inputs of the query."""
        return payloads_of(self._select, columns, count)

    def create_state(self) -> State:
        """Return a state without rows."""
        try:
            return self._called.create_state()
        except BaseException as error:
            raise ModuleCallError(self.module, "create_state") from safe_cause(error)

    def create_states(self, count: int) -> list[State]:
        """Return states without rows."""
        return self._created(self._called, count)

    def lifted_states(self, payloads: Payloads, counts: IntArray) -> list[State]:
        """Make a state of each group of payloads, by one call that adds all of the group.

        Args:
            payloads: The payloads, group by group.
            counts: The number of payloads of each group, 1 at least.

        Raises:
            ModuleCallError: The module raised an exception, for the group at `place`.
        """
        groups = payloads.groups([0, *np.cumsum(counts).tolist()])
        if not self._counts_accepted or payloads.has_skipped:
            empty_states = self._created(self._called, len(counts))
            return self._added(self._called, empty_states, groups)

        # The module accepts all of these payloads: it is called directly, which is faster. A state that counts accepted
        # payloads is a pair of their number and the module's own state.
        empty_states = self._created(self.module, len(counts))
        states = self._added(self.module, empty_states, groups)
        return list(zip(counts.tolist(), states, strict=True))

    def _created(self, called: Any, count: int) -> list[State]:
        """Return states without rows.

        Args:
            called: The module, or the wrapper around it that counts accepted payloads.
            count: The number of states.
        """
        states: list[State] = []
        create = called.create_state
        started = self.meter.now()
        try:
            for _ in range(count):
                states.append(create())
        except BaseException as error:
            raise ModuleCallError(self.module, "create_state", place=len(states)) from safe_cause(error)
        self.meter.since(started)
        return states

    def _added(self, called: Any, states: Sequence[State], groups: Iterable[list[object]]) -> list[State]:
        """Add a group of payloads to each state.

        Args:
            called: The module, or the wrapper around it that counts accepted payloads.
            states: The states.
            groups: The payloads for each state.

        Raises:
            ModuleCallError: The module raised an exception, for the group at `place`.
        """
        new_states: list[State] = []
        add = called.add_events
        started = self.meter.now()
        try:
            for state, group in zip(states, groups, strict=True):
                new_states.append(add(state, group))
        except BaseException as error:
            raise ModuleCallError(self.module, "add_events", place=len(new_states)) from safe_cause(error)
        self.meter.since(started)
        return new_states

    def add(self, state: State, payloads: list[object]) -> State:
        """Return a state with more payloads."""
        try:
            return self._called.add_events(state, payloads)
        except BaseException as error:
            raise ModuleCallError(self.module, "add_events") from safe_cause(error)

    def remove(self, state: State, payloads: list[object]) -> State:
        """Return a state without some of the payloads that were added."""
        try:
            return self._called.remove_events(state, payloads)
        except BaseException as error:
            raise ModuleCallError(self.module, "remove_events") from safe_cause(error)

    def combine_into(
        self, states: dict[Hashable, State], names: Sequence[Hashable], added_states: Sequence[State]
    ) -> None:
        """Merge each added state into the state that has its name; the first one of a name becomes that state.

        Args:
            states: The states by name, which are changed.
            names: The name of each added state.
            added_states: The added states, which stay as they are.

        Raises:
            ModuleCallError: The module raised an exception, for the added state at `place`.
        """
        combine = self._called.combine
        find = states.get  # looked up once: this loop runs for every state that arrives
        place = 0
        started = self.meter.now()
        try:
            for place, (name, added_state) in enumerate(zip(names, added_states, strict=True)):  # noqa: B007  # used on failure
                state = find(name, _ABSENT)
                states[name] = added_state if state is _ABSENT else combine(state, added_state)
        except BaseException as error:
            raise ModuleCallError(self.module, "combine", place=place) from safe_cause(error)
        self.meter.since(started)

    def upgrade(self, states: Sequence[State], version: str) -> list[State]:
        """Upgrade states that an older version of the module wrote.

        Args:
            states: The states.
            version: The older version.

        Raises:
            ModuleCallError: The module raised an exception, for the state at `place`.
        """
        new_states: list[State] = []
        upgrade = self._called.upgrade_state
        started = self.meter.now()
        try:
            for state in states:
                new_states.append(upgrade(state, version))
        except BaseException as error:
            raise ModuleCallError(self.module, "upgrade_state", place=len(new_states)) from safe_cause(error)
        self.meter.since(started)
        return new_states

    def combine(self, state: State, added_state: State) -> State:
        """Combine two states; the first one may change."""
        try:
            return self._called.combine(state, added_state)
        except BaseException as error:
            raise ModuleCallError(self.module, "combine") from safe_cause(error)

    def merged(self, first: State, second: State) -> State:
        """Combine two states into a third one: neither is changed, now or later."""
        combine = self._called.combine
        new_state = self.create_state()  # `combine` may change its first argument
        try:
            return combine(combine(new_state, first), second)
        except BaseException as error:
            raise ModuleCallError(self.module, "combine") from safe_cause(error)

    def deduct(self, state: State, merged_state: State) -> State:
        """Return a state without another one that was merged into it."""
        try:
            return self._called.deduct(state, merged_state)
        except BaseException as error:
            raise ModuleCallError(self.module, "deduct") from safe_cause(error)

    def result(self, state: State) -> Any:
        """Return the result of a state, which for an operator is a list of rows; the state stays as it is."""
        try:
            result = self._called.compute_result(state)
            return rows_of(result) if self._is_operator else result
        except BaseException as error:
            raise ModuleCallError(self.module, "compute_result") from safe_cause(error)

    def results(self, states: Sequence[State]) -> list[Any]:
        """Return the result of each state, or its rows; the states stay as they are."""
        results: list[Any] = []
        compute = self._called.compute_result
        # The wrapper that counts accepted payloads has an empty result for states without any. If there is no such
        # state, the module is called directly, which is faster.
        if self._counts_accepted and all(accepted for accepted, _ in states):
            compute = self.module.compute_result
            states = [state for _, state in states]
        is_operator = self._is_operator
        started = self.meter.now()
        try:
            for state in states:
                result = compute(state)
                results.append(rows_of(result) if is_operator else result)
        except BaseException as error:
            raise ModuleCallError(self.module, "compute_result", place=len(results)) from safe_cause(error)
        self.meter.since(started)
        return results


Objects: TypeAlias = npt.NDArray[np.object_]
"""n states of one module."""


@dataclass(frozen=True, slots=True)
class States:
    """n states of a module.

    Attributes:
        module: The module.
        objects: The states.
    """

    module: StateModule
    objects: Objects

    @classmethod
    def of(cls, module: StateModule, states: Iterable[State], count: int) -> States:
        """Wrap states. Each stays one object, even if it is a list: `np.array` would make an array of its items."""
        return cls(module, np.fromiter(states, np.object_, count))

    def __len__(self) -> int:
        return len(self.objects)

    @property
    def nbytes(self) -> int:
        """The size of the references: of the states only what is written is known."""
        return self.objects.nbytes

    def take(self, places: IntArray | slice) -> States:
        """Select states by their places."""
        return States(self.module, self.objects[places])

    def followed_by(self, further: Sequence[States]) -> States:
        """Return these states and, behind them, those of further batches."""
        return States(self.module, np.concatenate([self.objects, *(states.objects for states in further)]))

    def reduce(self, codes: IntArray, size: int) -> States:
        """Combine the states of each code; only the first state of a code may change.

        Args:
            codes: The code of each state; each code occurs.
            size: The number of codes.

        Raises:
            ModuleCallError: The module raised an exception; the place is the code.
        """
        first = first_places(codes, size)
        is_later = np.ones(len(codes), np.bool_)
        is_later[first] = False
        later = np.flatnonzero(is_later)
        later_codes = codes[later].tolist()

        # Only codes with several states need calls.
        CURRENT_CALL.set_module(self.module.label)
        merged = {code: self.objects[first[code]] for code in dict.fromkeys(later_codes)}
        try:
            self.module.combine_into(merged, later_codes, self.objects[later].tolist())
        except ModuleCallError as failure:
            failure.place = later_codes[failure.place]
            raise
        combined = self.objects[first]  # in the order of codes: a code is the place of its state
        combined[list(merged)] = np.fromiter(merged.values(), np.object_, len(merged))
        return States(self.module, combined)
