"""An aggregate per group of a window's payloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic

from typing_extensions import TypeVar

from muntin.errors import ModuleDefinitionError
from muntin.frozen import subscriptable
from muntin.modules.module import Module
from muntin.windows.extent import Window
from muntin_adapters.combinators.wrapping import Wrapping, module_class, types_of, wrap
from muntin_adapters.recipes import records_recipe

Group = TypeVar("Group")
Value = TypeVar("Value")


@subscriptable
@dataclass(frozen=True, slots=True)
class Grouped(Generic[Group, Value]):
    """A payload and its group: two columns of a query."""

    group: Group
    value: Value


@subscriptable
@dataclass(frozen=True, slots=True)
class GroupMember(Generic[Group]):
    """A group and an optional payload, for an aggregate such as a count that needs none: one or two columns."""

    group: Group
    value: Any = None


def grouping_by(module: str | type[Module]) -> type[Any]:
    """Return an aggregate that computes the result of each group, as a map from group to result.

    The query's first column is the group, the second is the module's payload; a module of several columns takes them as
    a struct, and a count needs no second column. A row without a group is left out, as a map has no null keys. NaN is a
    group, whose members are all NaNs. All groups of a window are in one state: for many groups, or for rows of their
    own, make the group a key of the query.

    Args:
        module: Name or class of an aggregate, whose parameters and capabilities stay.

    Raises:
        UnknownModuleError: No installed plugin offers the name.
        ModuleDefinitionError: The module is an operator.

    Example:
        >>> from muntin import Aggregate
        >>> class Largest(Aggregate[float, float]):
        ...     name, version = "demo.largest", "1.0.0"
        ...     def compute_result(self, payloads):
        ...         return max(payloads)
        >>> largest = grouping_by(Largest)()
        >>> largest.compute_result([Grouped("b", 2.0), Grouped("a", 1.0), Grouped("b", 3.0)])
        {'b': 3.0, 'a': 1.0}
    """
    return _grouping_by(module_class(module))


class _GroupingBy(Wrapping):
    """Keeps the number of members and a state for each group that has members."""

    def _create_state(self, *window: Window) -> object:
        del window
        return {}

    def _add_events(self, state: Any, members: Sequence[Any], *window: Window) -> object:
        """Add members to the states of their groups; a group that is new gets one."""
        for group, group_members in self._groups(members).items():
            key = _key_of(group, state)
            count, group_state = state.get(key) or (0, self._module.create_state(*window))
            added = self._module.add_events(group_state, group_members, *window)
            state[key] = count + len(group_members), added
        return state

    def _remove_events(self, state: Any, members: Sequence[object], *window: Window) -> object:
        """Remove members from the states of their groups; a group that loses its last member goes."""
        for group, group_members in self._groups(members).items():
            key = _key_of(group, state)
            count, group_state = state.pop(key)
            # A group without members has no entry, as the result has one for each entry.
            if count > len(group_members):
                remaining = self._module.remove_events(group_state, group_members, *window)
                state[key] = count - len(group_members), remaining
        return state

    def _combine(self, state: Any, other: Any) -> object:
        """Combine the states of each group; a group that is new gets one."""
        for group, (other_count, other_state) in other.items():
            key = _key_of(group, state)
            # Without a window, as states of time-sensitive modules are never combined.
            count, group_state = state.get(key) or (0, self._module.create_state())
            state[key] = count + other_count, self._module.combine(group_state, other_state)
        return state

    def _deduct(self, state: Any, other: Any) -> object:
        """Deduct the states of the groups of another state; a group that loses its last member goes."""
        for group, (other_count, other_state) in other.items():
            key = _key_of(group, state)
            count, group_state = state.pop(key)
            if count > other_count:
                state[key] = count - other_count, self._module.deduct(group_state, other_state)
        return state

    def _upgrade_state(self, state: Any, version: str, *window: Window) -> object:
        """Let the wrapped module upgrade the state of each group."""
        inner_version = self._inner_version(version)
        upgraded: dict[object, object] = {}
        for group, (count, group_state) in state.items():
            upgraded[group] = count, self._module.upgrade_state(group_state, inner_version, *window)
        return upgraded

    def _compute_result(self, state_or_members: Any, *window: Window) -> Any:
        """Return the result of each group, from its state or from its members."""
        if self.is_incremental:
            parts = {group: group_state for group, (_, group_state) in state_or_members.items()}
        else:
            parts = self._groups(state_or_members)
        return {group: self._module.compute_result(part, *window) for group, part in parts.items()}

    def _groups(self, members: Sequence[Any]) -> dict[Any, list[Any]]:
        """Return the inner members of each group."""
        # The wrapped module sees values alone, and each of its states is of one group.
        groups: dict[Any, list[Any]] = {}
        for member in members:
            payload = self._payload_of(member)
            key = _key_of(payload.group, groups)
            groups.setdefault(key, []).append(self._with_payload(member, payload.value))
        return groups


def _key_of(group: Any, entries: Mapping[Any, object]) -> Any:
    """Return the key of a group's entry, or the group itself if it has none: all NaNs are one group, as in Spark."""
    is_nan = group != group  # noqa: PLR0124
    if not is_nan:
        return group
    # A dict finds a NaN only by its identity, which a checkpoint does not keep.
    return next((key for key in entries if key != key), group)  # noqa: PLR0124


_DICT: Final[Any] = dict
_TUPLE: Final[Any] = tuple
"""`dict` and `tuple`, as `Any`: mypy refuses brackets with types that are known at run time alone."""


@records_recipe
def _grouping_by(cls: type[Module]) -> type[Any]:
    """Make the class that computes an aggregate for each group.

    Raises:
        ModuleDefinitionError: The module is an operator.
    """
    if cls.is_operator:
        raise ModuleDefinitionError(f"grouping_by({cls.name}): it is an operator\n  expected: an aggregate")
    payload, state, result = types_of(cls)
    grouped: Any = Grouped
    member: Any = GroupMember
    return wrap(
        cls,
        _GroupingBy,
        name_suffix="by_group",
        version_suffix="by group",
        # A module that reads anything, such as a count, may be given the groups alone.
        payload=member[Group] if payload is Any else grouped[Group, payload],
        result=_DICT[Group, result],
        attributes={"state_bytes": None},  # a state grows with the number of groups
        state=_DICT[Any, _TUPLE[int, Any if state is None else state]],
    )
