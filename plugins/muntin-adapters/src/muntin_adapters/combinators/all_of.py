"""Several aggregates of the same payloads as one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import is_dataclass, replace
from functools import reduce
from typing import Any, ClassVar, get_args, get_origin

from typing_extensions import TypedDict, TypeVar

from muntin.errors import ModuleDefinitionError
from muntin.modules.aggregate import Aggregate
from muntin.modules.columnar_aggregate import ColumnarAggregate
from muntin.modules.incremental import IncrementalAggregate
from muntin.modules.module import Module
from muntin.modules.needs import Needs
from muntin.schemas import Field, Struct, Variable, bind, describe, spell
from muntin.windows.extent import Window
from muntin_adapters.combinators.annotations import is_variable, substituted, with_null, without_null
from muntin_adapters.combinators.wrapping import METHODS, constructor_signature, module_class, types_of
from muntin_adapters.made import Made, make_module, maker

Payload = TypeVar("Payload")


def all_of(**modules: str | type[Module]) -> type[Any]:
    """Return an aggregate that computes several of the same payloads: its result has one field for each.

    It removes, combines and deducts if all of them do, is time-sensitive if one of them is, and has a columnar form if
    all of them have one that leaves nulls out. They read the same type; those that take any type take it too. It is for
    one struct column, and for use inside other combinators: a query gives each aggregate a column of its own as
    cheaply, with `aggregate(mean=..., n=...)`.

    Args:
        modules: By the name of the field, an aggregate's name or class. A query gives them no parameters: use `preset`.

    Raises:
        UnknownModuleError: No installed plugin offers a name.
        ModuleDefinitionError: One is an operator, needs a parameter, or reads something else than the others.

    Example:
        >>> from muntin import Aggregate
        >>> class Largest(Aggregate[float, float]):
        ...     name, version = "demo.largest", "1.0.0"
        ...     def compute_result(self, payloads):
        ...         return max(payloads)
        >>> class Number(Aggregate[float, int]):
        ...     name, version = "demo.number", "1.0.0"
        ...     def compute_result(self, payloads):
        ...         return len(payloads)
        >>> all_of(largest=Largest, number=Number)().compute_result([3.0, 1.0])
        {'largest': 3.0, 'number': 2}
    """
    return _all_of(**{name: module_class(module) for name, module in modules.items()})


class _AllModules(Made):
    """Keeps one state per aggregate; a payload is seen by each in the way it wants."""

    _parts: ClassVar[Mapping[str, type[Module]]]
    is_incremental: ClassVar[bool]
    is_time_sensitive: ClassVar[bool]

    def __init__(self) -> None:
        self._modules: list[Any] = [cls() for cls in self._parts.values()]

    @classmethod
    def result_field(cls) -> Field:
        """Return a record with the result of each aggregate, whose decimals are as large as that one says."""
        payload: Any = cls.input_field()  # type: ignore[attr-defined]  # every base class beside this mixin has it
        results = {name: _bound(part.result_field(), part.input_field(), payload) for name, part in cls._parts.items()}
        fields = (replace(field, name=name) for name, field in results.items())
        return Field("result", Struct(tuple(fields), dict))

    @property
    def exact_up_to(self) -> int | None:
        """The least that any of the aggregates says."""
        return min((module.exact_up_to for module in self._modules if module.exact_up_to is not None), default=None)

    @property
    def needs(self) -> Needs:
        """The combined needs of the aggregates."""
        needed: list[Needs] = [module.needs for module in self._modules]
        return reduce(Needs.together_with, needed)

    def with_order(self) -> Module:
        """Return an aggregate of those that each aggregate is where there is an order."""
        own: Any = copy(self)
        own._modules = [module.with_order() for module in self._modules]
        own.reads_order = any(module.reads_order for module in own._modules)
        found: Module = own
        return found

    @property
    def state_bytes(self) -> int | None:
        """The sum of the aggregates' state sizes; None if one of them does not declare it."""
        sizes = [getattr(module, "state_bytes", None) for module in self._modules]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    def _create_state(self, *window: Window) -> object:
        return [module.create_state(*self._extent(module, window)) for module in self._modules]

    def _add_events(self, state: object, members: Sequence[object], *window: Window) -> object:
        return self._each("add_events", state, members, window)

    def _remove_events(self, state: object, members: Sequence[object], *window: Window) -> object:
        return self._each("remove_events", state, members, window)

    def _combine(self, state: Any, other: Any) -> object:
        return [module.combine(*pair) for module, *pair in zip(self._modules, state, other, strict=True)]

    def _deduct(self, state: Any, other: Any) -> object:
        return [module.deduct(*pair) for module, *pair in zip(self._modules, state, other, strict=True)]

    def continues_from(self, version: str) -> bool:
        """Return True if each aggregate continues from the version that it had.

        Where one of them upgrades its states, all are read as plain data; so it is refused if another one of them has
        records in its states.
        """
        versions = self._versions(version)
        parts = dict(zip(self._parts, self._modules, strict=True))
        if versions is None or not all(module.continues_from(versions[name]) for name, module in parts.items()):
            return False
        upgraded = {name for name, module in parts.items() if _is_upgraded(module, versions[name])}
        others = [module for name, module in parts.items() if name not in upgraded]
        has_records = any(_has_records(module.state_type()) for module in others)
        return not (self.is_incremental and upgraded and has_records)

    def _versions(self, version: str) -> dict[str, str] | None:
        """Return the versions of the aggregates in a version of all; None if it is one of others."""
        parts = (f"{re.escape(f'{name}: {cls.name} ')}(.+)" for name, cls in self._parts.items())
        found = re.fullmatch(", ".join(parts), version)
        return None if found is None else dict(zip(self._parts, found.groups(), strict=True))

    def _upgrade_state(self, state: Any, version: str, *window: Window) -> object:
        versions = (self._versions(version) or {}).values()
        return [
            module.upgrade_state(part, own, *self._extent(module, window)) if _is_upgraded(module, own) else part
            for module, part, own in zip(self._modules, state, versions, strict=True)
        ]

    def _form_versions(self, version: str) -> dict[str, str]:
        """Return the versions of the aggregates whose states must be upgraded."""
        versions = self._versions(version) or {}
        parts = zip(versions.items(), self._modules, strict=True)
        return {name: own for (name, own), module in parts if own != module.version}

    def _compute_result(self, known: Any, *window: Window) -> Any:
        states = known if self.is_incremental else [self._known(module, known, window) for module in self._modules]
        results = [
            module.compute_result(state, *self._extent(module, window))
            for module, state in zip(self._modules, states, strict=True)
        ]
        return dict(zip(self._parts, results, strict=True))

    def _columnar_form(self, reads: object) -> ColumnarAggregate[Any, Any] | None:
        forms = [module.columnar_form(reads) for module in self._modules]
        if not all(form is not None and form.skips_nulls for form in forms):
            return None
        from muntin_adapters.combinators.all_of_form import AllOfForm

        return AllOfForm(dict(zip(self._parts, forms, strict=True)), self._form_versions)

    def _each(self, method: str, states: Any, members: Sequence[object], window: object) -> Any:
        return [
            getattr(module, method)(state, self._seen(module, members), *self._extent(module, window))
            for module, state in zip(self._modules, states, strict=True)
        ]

    def _known(self, module: Any, members: Sequence[Any], window: Any) -> Any:
        """Return the argument of a module's `compute_result`: its members, or a state of them if it is incremental."""
        seen, extent = self._seen(module, members), self._extent(module, window)
        return module.add_events(module.create_state(*extent), seen, *extent) if module.is_incremental else seen

    def _seen(self, module: Any, members: Sequence[Any]) -> Sequence[Any]:
        if self.is_time_sensitive and not module.is_time_sensitive:
            return [event.payload for event in members]
        return members

    def _extent(self, module: Any, window: Any) -> Any:
        return window if module.is_time_sensitive else ()


@maker
def _all_of(**parts: type[Module]) -> type[Any]:
    _check(parts)
    payload = _payload(parts)
    results = {name: _result(cls, payload) for name, cls in parts.items()}
    record: Any = TypedDict("AllOf", results)  # type: ignore[misc]  # known at run time alone
    is_incremental = all(cls.is_incremental for cls in parts.values())
    states = tuple(cls.state_type() for cls in parts.values())
    types = (payload, tuple[states], record) if is_incremental else (payload, record)  # type: ignore[valid-type]
    base: Any = IncrementalAggregate if is_incremental else Aggregate
    return make_module(
        (_AllModules, base[types]),
        {
            "name": "muntin.all_of",
            "version": ", ".join(f"{name}: {cls.name} {cls.version}" for name, cls in parts.items()),
            "requires_same_code": any(cls.requires_same_code for cls in parts.values()),
            "accepted_clips": reduce(frozenset.intersection, (cls.accepted_clips for cls in parts.values())),
            "reads_order": any(cls.reads_order for cls in parts.values()),
            "is_time_sensitive": any(cls.is_time_sensitive for cls in parts.values()),
            "reads_times": any(cls.reads_times for cls in parts.values()),
            "_parts": dict(parts),
            **_methods(parts, is_incremental=is_incremental),
        },
    )


def _check(parts: Mapping[str, type[Module]]) -> None:
    if not parts:
        raise ModuleDefinitionError("all_of() has no aggregates\n  expected: for example all_of(mean='stats.average')")
    for name, cls in parts.items():
        if cls.is_operator:
            raise ModuleDefinitionError(f"all_of({name}={cls.name}): it is an operator\n  expected: an aggregate")
        needed = [part.name for part in constructor_signature(cls).parameters.values() if _is_needed(part)]
        if needed:
            raise ModuleDefinitionError(
                f"all_of({name}={cls.name}): it needs {needed[0]}\n"
                f"  to do: {name}=preset({cls.name!r}, {needed[0]}=...)"
            )
    if not reduce(frozenset.intersection, (cls.accepted_clips for cls in parts.values())):
        clips = ", ".join(f"{name} accepts {sorted(map(str, cls.accepted_clips))}" for name, cls in parts.items())
        raise ModuleDefinitionError(f"all_of() has no clip that all accept: {clips}")


def _is_needed(parameter: Any) -> bool:
    return parameter.default is parameter.empty and parameter.kind not in (
        parameter.VAR_POSITIONAL,
        parameter.VAR_KEYWORD,
    )


def _methods(parts: Mapping[str, type[Module]], *, is_incremental: bool) -> dict[str, object]:
    wanted = METHODS if is_incremental else ("compute_result",)
    names = [name for name in wanted if all(hasattr(cls, name) for cls in parts.values())]
    if is_incremental and any(hasattr(cls, "upgrade_state") for cls in parts.values()):
        names.append("upgrade_state")
    methods = {name: getattr(_AllModules, f"_{name}") for name in names}
    if all(hasattr(cls, "columnar_form") for cls in parts.values()):
        methods["columnar_form"] = _AllModules._columnar_form
    return methods


def _is_upgraded(module: Any, version: str) -> bool:
    return version != module.version and hasattr(module, "upgrade_state")


def _has_records(annotation: object) -> bool:
    cls = get_origin(annotation) or annotation
    return is_dataclass(cls) or hasattr(cls, "_fields") or any(map(_has_records, get_args(annotation)))


def _payload(parts: Mapping[str, type[Module]]) -> object:
    """Return the one type that all aggregates read."""
    inputs = {name: without_null(types_of(cls)[0]) for name, cls in parts.items()}
    choices = {name: _choices(bare) for name, (bare, _) in inputs.items()}
    said = {name: found for name, found in choices.items() if found}
    common = [one for one in next(iter(said.values()), ()) if all(one in found for found in said.values())]
    if said and not common:
        spelled = {name: [spell(describe(one)) for one in found] for name, found in said.items()}
        read = ", ".join(f"{name} reads {' or '.join(found)}" for name, found in spelled.items())
        raise ModuleDefinitionError(f"all_of() is of one payload, but {read}\n  to do: convert it with mapping()")
    if all(bare is Any for bare, _ in inputs.values()):
        return Any
    several: Any = TypeVar
    one = Payload if not said else common[0] if len(common) == 1 else several("Payload", *common)
    return with_null(one) if all(is_nullable for _, is_nullable in inputs.values()) else one


def _bound(result: Field, reads: Field, payload: Field) -> Field:
    """Return an aggregate's result where it reads that payload."""
    variable = reads.type
    if isinstance(variable, Variable) and variable.name:
        return bind(result, {variable.name: Field("", payload.type)})
    return result


def _choices(bare: Any) -> tuple[object, ...]:
    """Return the types that a payload may be of; none where it may be of any."""
    if is_variable(bare):
        return tuple(bare.__constraints__)
    return () if bare is Any else (bare,)


def _result(cls: type[Module], payload: object) -> Any:
    read, _, result = types_of(cls)
    bare, _ = without_null(read)
    return substituted(result, {bare: without_null(payload)[0]}) if is_variable(bare) else result
