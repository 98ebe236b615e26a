"""Modules that do to another module's payloads or results what a combinator says."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, Final

from muntin.catalog import installed
from muntin.definitions.methods import signature_of
from muntin.errors import ModuleDefinitionError
from muntin.events import Event
from muntin.modules.aggregate import Aggregate, Operator
from muntin.modules.columnar_aggregate import ColumnarAggregate
from muntin.modules.incremental import IncrementalAggregate, IncrementalOperator
from muntin.modules.module import Module
from muntin.modules.needs import Needs
from muntin.windows.extent import Window
from muntin_adapters.made import Made, constructor, make_module

METHODS: Final = (
    "create_state",
    "add_events",
    "remove_events",
    "combine",
    "deduct",
    "compute_result",
    "upgrade_state",
)
"""The methods that the engine calls; a wrapping module has those that the wrapped one has and its way knows."""

SAID: Final = (
    *("accepted_clips", "contract", "decimal_digits", "decimal_places"),
    *("is_time_sensitive", "reads_times", "reads_order", "requires_same_code"),
)
"""Class attributes that hold for a class and for any class that wraps it."""


FROM_MEMBERS: Final[Mapping[Any, Any]] = {
    IncrementalAggregate: Aggregate,
    IncrementalOperator: Operator,
}
"""For each base class that keeps a state, the one that computes the same from all members at once."""


class Wrapping(Made):
    """The root of modules that wrap another one."""

    _keeps_state: ClassVar[bool] = True
    _wrapped: ClassVar[type[Module]]
    _suffix: ClassVar[str]
    _preset: ClassVar[str]
    version: ClassVar[str]
    is_incremental: ClassVar[bool]
    is_operator: ClassVar[bool]
    is_time_sensitive: ClassVar[bool]

    def __init__(self, *arguments: object, **parameters: object) -> None:
        self._module: Any = self._wrapped(*arguments, **parameters)

    @property
    def exact_up_to(self) -> int | None:
        """The wrapped module's limit."""
        most: int | None = self._module.exact_up_to
        return most

    @property
    def needs(self) -> Needs:
        """The wrapped module's needs."""
        needed: Needs = self._module.needs
        return needed

    @property
    def state_bytes(self) -> int | None:
        """The wrapped module's state size."""
        size: int | None = getattr(self._module, "state_bytes", None)
        return size

    def with_order(self) -> Module:
        """Return a module that wraps the wrapped one's."""
        own: Any = copy(self)
        own._module = self._module.with_order()
        own.reads_order = own._module.reads_order
        found: Module = own
        return found

    def continues_from(self, version: str) -> bool:
        """Ask the wrapped module about its part of the version; the part that this one adds must be the same."""
        is_wrapped_alike = version.endswith(self._suffix + self._preset)
        continues: bool = is_wrapped_alike and self._module.continues_from(self._inner(version))
        return continues

    def _inner(self, version: str) -> str:
        return version.removesuffix(self._preset).removesuffix(self._suffix)

    def _outer_form(self, form: ColumnarAggregate[Any, Any]) -> ColumnarAggregate[Any, Any]:
        """Return the wrapped module's form, for queries that know this module's version."""
        from muntin_adapters.combinators.inner_versions import with_inner_version

        return with_inner_version(form, self._inner)

    def _payload_of(self, member: Any) -> Any:
        return member.payload if self.is_time_sensitive else member

    def _with_payload(self, member: Any, payload: Any) -> Any:
        return Event(member.start, member.end, payload) if self.is_time_sensitive else payload

    def _see(self, members: Sequence[Any]) -> Sequence[object]:
        """Return the members that the wrapped module gets."""
        return members

    def _show(self, result: Any) -> object:
        """Convert the result of the wrapped module; by default, leave it as it is."""
        return result


class Delegating(Wrapping):
    """A module whose states are those of the one it wraps."""

    def _create_state(self, *window: Window) -> object:
        return self._module.create_state(*window)

    def _add_events(self, state: object, members: Sequence[object], *window: Window) -> object:
        return self._module.add_events(state, self._see(members), *window)

    def _remove_events(self, state: object, members: Sequence[object], *window: Window) -> object:
        return self._module.remove_events(state, self._see(members), *window)

    def _combine(self, state: object, other: object) -> object:
        return self._module.combine(state, other)

    def _deduct(self, state: object, other: object) -> object:
        return self._module.deduct(state, other)

    def _upgrade_state(self, state: object, version: str, *window: Window) -> object:
        return self._module.upgrade_state(state, self._inner(version), *window)

    def _compute_result(self, known: Any, *window: Window) -> Any:
        known = known if self.is_incremental else self._see(known)
        return self._show(self._module.compute_result(known, *window))


class Counting(Wrapping):
    """A module that may leave members out: beside the wrapped module's state it counts those that are left.

    Where there are none, the wrapped module is not called, and the result is null; an operator then has no rows.
    """

    def _create_state(self, *window: Window) -> object:
        return 0, self._module.create_state(*window)

    def _add_events(self, state: Any, members: Sequence[Any], *window: Window) -> object:
        (count, inner), kept = state, self._see(members)
        return (count + len(kept), self._module.add_events(inner, kept, *window)) if kept else state

    def _remove_events(self, state: Any, members: Sequence[Any], *window: Window) -> object:
        (count, inner), gone = state, self._see(members)
        if not gone:
            return state
        if count == len(gone):
            return self._create_state(*window)
        return count - len(gone), self._module.remove_events(inner, gone, *window)

    def _combine(self, state: Any, other: Any) -> object:
        return state[0] + other[0], self._module.combine(state[1], other[1])

    def _deduct(self, state: Any, other: Any) -> object:
        count = state[0] - other[0]
        return (count, self._module.deduct(state[1], other[1])) if count else self._create_state()

    def _upgrade_state(self, state: Any, version: str, *window: Window) -> object:
        return state[0], self._module.upgrade_state(state[1], self._inner(version), *window)

    def _compute_result(self, known: Any, *window: Window) -> Any:
        count, inner = known if self.is_incremental else (len(kept := self._see(known)), kept)
        if count:
            return self._module.compute_result(inner, *window)
        return () if self.is_operator else None


def module_class(module: str | type[Module]) -> type[Module]:
    """Return a module by its name, or the class itself.

    Raises:
        UnknownModuleError: No installed plugin offers the name.
        ModuleDefinitionError: It is neither, or the class is not complete.
    """
    cls: Any = installed().module(module) if isinstance(module, str) else module
    if not isinstance(cls, type) or not issubclass(cls, Module):
        raise ModuleDefinitionError(f"{cls!r} is neither a module class nor the name of one")
    cls.check_definition()
    found: type[Module] = cls
    return found


def base_of(cls: type[Module]) -> Any:
    """Return the one of the four base classes that a module has; the columnar one counts as incremental aggregate.

    Raises:
        ModuleDefinitionError: It follows rows or a stream, and has none of them.
    """
    base = next(base for base in cls.__mro__ if "_roles" in vars(base))
    if base not in (Aggregate, Operator, IncrementalAggregate, IncrementalOperator, ColumnarAggregate):
        raise ModuleDefinitionError(
            f"{cls.name} cannot be combined: it is a {base.__name__}, whose state is that of a key for good, not of a "
            "window\n  expected: an aggregate or an operator over windows"
        )
    return IncrementalAggregate if base is ColumnarAggregate else base


def types_of(cls: type[Module]) -> tuple[object, object, object]:
    """Return the types of a module's payload, of its state and of its result."""
    types = cls._types()
    return types["input"], cls.state_type(), types["result"]


def constructor_signature(cls: type[Module]) -> inspect.Signature:
    """Return the parameters that a module takes."""
    return signature_of(cls).replace(return_annotation=inspect.Signature.empty)


def wrap(  # everything that a module says of itself
    cls: type[Module],
    way: type[Wrapping],
    description: tuple[str, str],
    payload: object,
    result: object,
    attributes: Mapping[str, object],
    state: object = None,
) -> type[Any]:
    """Return a module class that wraps another one.

    Args:
        cls: The other one.
        way: The way in which it is wrapped.
        description: The text added to its name, and to its version.
        payload: The type of a payload.
        result: The type of a result.
        attributes: Further definitions.
        state: The type of a state; by default the wrapped module's, counted if the way counts.
    """
    suffix, version = description
    own: Any = cls.state_type() if state is None else state
    state = tuple[(int, own)] if issubclass(way, Counting) else own
    base, methods = base_of(cls), list(METHODS)
    if not way._keeps_state:
        base, methods = FROM_MEMBERS.get(base, base), ["compute_result"]
    types = (payload, state, result) if base.is_incremental else (payload, result)
    found: dict[str, Callable[..., Any]] = {
        method: getattr(way, f"_{method}") for method in methods if hasattr(cls, method) and hasattr(way, f"_{method}")
    }
    said = {name: getattr(cls, name) for name in SAID}
    return make_module(
        (way, base[types]),
        {
            "name": f"{cls.name}_{suffix}",
            "version": f"{cls.version} {version}",
            "__doc__": cls.__doc__,
            "__init__": constructor(way.__init__, constructor_signature(cls)),
            "_wrapped": cls,
            "_suffix": f" {version}",
            **said,
            **found,
            **attributes,
        },
    )
