"""Modules that wrap another module, and change its payloads or its results."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, Final, NamedTuple

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
from muntin_adapters.recipes import PickledAsRecipe, constructor, make_module

METHODS: Final = (
    "create_state",
    "add_events",
    "remove_events",
    "combine",
    "deduct",
    "compute_result",
    "upgrade_state",
)
"""The methods that the engine calls: a wrapping module has those that the wrapped module and the mixin have."""

_COPIED: Final = (
    *("accepted_clips", "contract", "decimal_digits", "decimal_places"),
    *("is_time_sensitive", "reads_times", "reads_order", "requires_same_code"),
)
"""Class attributes of a module that hold for any module around it."""

_STATELESS_BASES: Final[Mapping[Any, Any]] = {
    IncrementalAggregate: Aggregate,
    IncrementalOperator: Operator,
}
"""For each base class that keeps a state, the one that computes its result from all members at once."""


class Wrapping(PickledAsRecipe):
    """The root of mixins of modules that wrap another module.

    A mixin has a method `_name` for each of `METHODS` that it can do; `wrap` gives them their names.

    Attributes:
        _keeps_state: False for a module that computes each result from all members, also of an incremental module.
        _wrapped: Class of the wrapped module.
        _suffix: Text that the module adds to the version of the wrapped one.
        _preset: Text that `preset` adds to the version of the module.
        _module: Wrapped module.
    """

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
        limit: int | None = self._module.exact_up_to
        return limit

    @property
    def needs(self) -> Needs:
        """The wrapped module's needs."""
        needs: Needs = self._module.needs
        return needs

    @property
    def state_bytes(self) -> int | None:
        """The wrapped module's state size."""
        size: int | None = getattr(self._module, "state_bytes", None)
        return size

    def with_order(self) -> Module:
        """Return this module around the wrapped module's `with_order`."""
        ordered: Any = copy(self)  # the module of a query without an order stays as it is
        ordered._module = self._module.with_order()
        ordered.reads_order = ordered._module.reads_order
        module: Module = ordered
        return module

    def continues_from(self, version: str) -> bool:
        """True if a version has the same wrapping, and the wrapped module continues from its part of the version."""
        is_wrapped_alike = version.endswith(self._suffix + self._preset)
        continues: bool = is_wrapped_alike and self._module.continues_from(self._inner_version(version))
        return continues

    def _inner_version(self, version: str) -> str:
        """Return the wrapped module's part of a version."""
        return version.removesuffix(self._preset).removesuffix(self._suffix)

    def _outer_form(self, form: ColumnarAggregate[Any, Any]) -> ColumnarAggregate[Any, Any]:
        """Return the wrapped module's form, which upgrades states by this module's versions."""
        from muntin_adapters.combinators.inner_versions import with_inner_version

        return with_inner_version(form, self._inner_version)

    def _payload_of(self, member: Any) -> Any:
        """Return the payload of a member, which is an event where the module is time-sensitive."""
        return member.payload if self.is_time_sensitive else member

    def _with_payload(self, member: Any, payload: Any) -> Any:
        """Return a member with another payload, and with its own lifetime if it has one."""
        return Event(member.start, member.end, payload) if self.is_time_sensitive else payload

    def _inner_members(self, members: Sequence[Any]) -> Sequence[object]:
        """Return the members that the wrapped module gets; by default, all as they are."""
        return members

    def _outer_result(self, result: Any) -> object:
        """Convert the result of the wrapped module; by default, leave it as it is."""
        return result


class Delegating(Wrapping):
    """A module whose states are those of the wrapped module."""

    def _create_state(self, *window: Window) -> object:
        return self._module.create_state(*window)

    def _add_events(self, state: object, members: Sequence[object], *window: Window) -> object:
        """Return the wrapped module's state with the inner members added."""
        return self._module.add_events(state, self._inner_members(members), *window)

    def _remove_events(self, state: object, members: Sequence[object], *window: Window) -> object:
        """Return the wrapped module's state with the inner members removed."""
        return self._module.remove_events(state, self._inner_members(members), *window)

    def _combine(self, state: object, other: object) -> object:
        return self._module.combine(state, other)

    def _deduct(self, state: object, other: object) -> object:
        return self._module.deduct(state, other)

    def _upgrade_state(self, state: object, version: str, *window: Window) -> object:
        """Let the wrapped module upgrade a state of its own earlier version."""
        return self._module.upgrade_state(state, self._inner_version(version), *window)

    def _compute_result(self, state_or_members: Any, *window: Window) -> Any:
        """Return the converted result of the wrapped module, from its state or from the inner members."""
        if not self.is_incremental:
            state_or_members = self._inner_members(state_or_members)
        return self._outer_result(self._module.compute_result(state_or_members, *window))


class Counting(Wrapping):
    """A module that may leave members out: its state is the number of inner members, and the wrapped module's state.

    Without inner members the wrapped module is not called, and the result is null; an operator then has no rows.
    """

    def _create_state(self, *window: Window) -> object:
        return 0, self._module.create_state(*window)

    def _add_events(self, state: Any, members: Sequence[Any], *window: Window) -> object:
        """Return the state with the inner members added and counted; without any it stays as it is."""
        inner_members = self._inner_members(members)
        if not inner_members:
            return state
        count, inner_state = state
        return count + len(inner_members), self._module.add_events(inner_state, inner_members, *window)

    def _remove_events(self, state: Any, members: Sequence[Any], *window: Window) -> object:
        """Return the state without some inner members; a new state if none is left."""
        inner_members = self._inner_members(members)
        if not inner_members:
            return state
        count, inner_state = state
        if count == len(inner_members):
            return self._create_state(*window)  # a new state has no rounding errors of removed members
        return count - len(inner_members), self._module.remove_events(inner_state, inner_members, *window)

    def _combine(self, state: Any, other: Any) -> object:
        """Return the sum of both counts, and the wrapped module's states combined."""
        count, inner_state = state
        other_count, other_inner_state = other
        return count + other_count, self._module.combine(inner_state, other_inner_state)

    def _deduct(self, state: Any, other: Any) -> object:
        """Return a state without the inner members of another one; a new state if none is left."""
        count, inner_state = state
        other_count, other_inner_state = other
        if count == other_count:
            return self._create_state()  # without a window, as states of time-sensitive modules are never deducted
        return count - other_count, self._module.deduct(inner_state, other_inner_state)

    def _upgrade_state(self, state: Any, version: str, *window: Window) -> object:
        """Keep the count, and let the wrapped module upgrade its state."""
        count, inner_state = state
        return count, self._module.upgrade_state(inner_state, self._inner_version(version), *window)

    def _compute_result(self, state_or_members: Any, *window: Window) -> Any:
        """Return the wrapped module's result if there are inner members: else null, or no rows."""
        if self.is_incremental:
            count, inner = state_or_members
        else:
            inner = self._inner_members(state_or_members)
            count = len(inner)
        if count:
            return self._module.compute_result(inner, *window)
        return () if self.is_operator else None


def module_class(module: str | type[Module]) -> type[Module]:
    """Return the class of a module, from its name or from the class itself.

    Raises:
        UnknownModuleError: No installed plugin offers the name.
        ModuleDefinitionError: The module is neither a name nor a class of modules, or the class is not complete.
    """
    cls: Any = installed().module(module) if isinstance(module, str) else module
    if not isinstance(cls, type) or not issubclass(cls, Module):
        raise ModuleDefinitionError(f"{cls!r} is neither a module class nor the name of one")
    cls.check_definition()
    checked: type[Module] = cls
    return checked


def base_of(cls: type[Module]) -> Any:
    """Return the base class of a module: `Aggregate`, `Operator`, `IncrementalAggregate` or `IncrementalOperator`.

    A `ColumnarAggregate` counts as an incremental aggregate.

    Raises:
        ModuleDefinitionError: The module follows rows or a stream, and has none of these base classes.
    """
    # Only the base classes of modules define `_roles`, the names of their type parameters; the first is the nearest.
    base = next(base for base in cls.__mro__ if "_roles" in vars(base))
    if base not in (Aggregate, Operator, IncrementalAggregate, IncrementalOperator, ColumnarAggregate):
        raise ModuleDefinitionError(
            f"{cls.name} cannot be combined: it is a {base.__name__}, whose state is that of a key for good, not of a "
            "window\n  expected: an aggregate or an operator over windows"
        )
    return IncrementalAggregate if base is ColumnarAggregate else base


class ModuleTypes(NamedTuple):
    """The types that a module class declares.

    Attributes:
        payload: Type of a payload.
        state: Type of a state; None for a module that keeps none.
        result: Type of a result, or of a row of an operator.
    """

    payload: object
    state: object
    result: object


def types_of(cls: type[Module]) -> ModuleTypes:
    """Return the types of a module's payload, of its state and of its result."""
    types = cls._types()
    return ModuleTypes(types["input"], cls.state_type(), types["result"])


def constructor_signature(cls: type[Module]) -> inspect.Signature:
    """Return the parameters that a module takes."""
    return signature_of(cls).replace(return_annotation=inspect.Signature.empty)


def wrap(  # each argument is a definition of the class that is made
    cls: type[Module],
    mixin: type[Wrapping],
    *,
    name_suffix: str,
    version_suffix: str,
    payload: object,
    result: object,
    attributes: Mapping[str, object],
    state: object = None,
) -> type[Any]:
    """Make a module class that wraps another one.

    Args:
        cls: Class of the wrapped module.
        mixin: Mixin with the methods of the new module.
        name_suffix: Text that is added to the name.
        version_suffix: Text that is added to the version, so that a checkpoint knows what is wrapped around a state.
        payload: Type of a payload.
        result: Type of a result.
        attributes: Further definitions.
        state: Type of a state; by default the wrapped module's, with a count if the mixin is a `Counting`.
    """
    # The types in the brackets of the new class.
    inner_state: Any = cls.state_type() if state is None else state
    state = tuple[(int, inner_state)] if issubclass(mixin, Counting) else inner_state
    base = base_of(cls)
    method_names: Sequence[str] = METHODS
    if not mixin._keeps_state:
        base = _STATELESS_BASES.get(base, base)
        method_names = ("compute_result",)
    types = (payload, state, result) if base.is_incremental else (payload, result)

    # Having a method is a declaration to the engine, so the class has those alone that both sides can do.
    methods: dict[str, Callable[..., Any]] = {}
    for method in method_names:
        if hasattr(cls, method) and hasattr(mixin, f"_{method}"):
            methods[method] = getattr(mixin, f"_{method}")

    return make_module(
        (mixin, base[types]),
        {
            "name": f"{cls.name}_{name_suffix}",
            "version": f"{cls.version} {version_suffix}",
            "__doc__": cls.__doc__,
            "__init__": constructor(mixin.__init__, constructor_signature(cls)),
            "_wrapped": cls,
            "_suffix": f" {version_suffix}",
            **{name: getattr(cls, name) for name in _COPIED},
            **methods,
            **attributes,
        },
    )
