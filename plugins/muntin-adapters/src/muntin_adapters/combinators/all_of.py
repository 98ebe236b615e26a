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
from muntin_adapters.recipes import PickledAsRecipe, make_module, records_recipe

Payload = TypeVar("Payload")


def all_of(**modules: str | type[Module]) -> type[Any]:
    """Return an aggregate that computes several of the same payloads: its result has one field for each.

    It removes, combines and deducts if all aggregates do, is time-sensitive if one of them is, and has a columnar form
    if all of them have one that leaves nulls out. All aggregates read one type, also those that take any type. The
    combinator is for one struct column, and for use inside other combinators: a query gives each aggregate a column of
    its own as cheaply, with `aggregate(mean=..., n=...)`.

    Args:
        modules: Name or class of an aggregate, by the name of its field. A query gives it no parameters: use `preset`.

    Raises:
        UnknownModuleError: No installed plugin offers a name.
        ModuleDefinitionError: A module is an operator, needs a parameter, or reads another type than the others.

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


class _AllModules(PickledAsRecipe):
    """Keeps a list of states, one for each aggregate.

    If one of the aggregates is time-sensitive, all methods get events and the window; the other aggregates get the
    payloads of the events alone.

    Attributes:
        _parts: Classes of the aggregates, by the names of their fields.
        _modules: Aggregates, in the order of the fields.
    """

    _parts: ClassVar[Mapping[str, type[Module]]]
    is_incremental: ClassVar[bool]
    is_time_sensitive: ClassVar[bool]

    def __init__(self) -> None:
        self._modules: list[Any] = [cls() for cls in self._parts.values()]

    @classmethod
    def result_field(cls) -> Field:
        """Return a record with the result of each aggregate, with the decimal digits that the aggregate declares."""
        payload: Any = cls.input_field()  # type: ignore[attr-defined]  # every base class beside this mixin has it
        fields: list[Field] = []
        for name, part in cls._parts.items():
            field = _with_payload_type(part.result_field(), part.input_field(), payload)
            fields.append(replace(field, name=name))
        return Field("result", Struct(tuple(fields), dict))

    @property
    def exact_up_to(self) -> int | None:
        """The least limit of the aggregates; None if none has one."""
        limits = [module.exact_up_to for module in self._modules]
        return min((limit for limit in limits if limit is not None), default=None)

    @property
    def needs(self) -> Needs:
        """The combined needs of the aggregates."""
        needs: list[Needs] = [module.needs for module in self._modules]
        return reduce(Needs.together_with, needs)

    def with_order(self) -> Module:
        """Return this module around each aggregate's `with_order`."""
        ordered: Any = copy(self)
        ordered._modules = [module.with_order() for module in self._modules]
        ordered.reads_order = any(module.reads_order for module in ordered._modules)
        module: Module = ordered
        return module

    @property
    def state_bytes(self) -> int | None:
        """The sum of the aggregates' state sizes; None if one of them does not declare its size."""
        total = 0
        for module in self._modules:
            size = getattr(module, "state_bytes", None)
            if size is None:
                return None
            total += size
        return total

    def _create_state(self, *window: Window) -> object:
        """Return a list with a new state of each aggregate."""
        return [module.create_state(*self._window_for(module, window)) for module in self._modules]

    def _add_events(self, state: object, members: Sequence[object], *window: Window) -> object:
        return self._each("add_events", state, members, window)

    def _remove_events(self, state: object, members: Sequence[object], *window: Window) -> object:
        return self._each("remove_events", state, members, window)

    def _combine(self, state: Any, other: Any) -> object:
        """Return the list of each aggregate's states combined."""
        parts = zip(self._modules, state, other, strict=True)
        return [module.combine(module_state, other_state) for module, module_state, other_state in parts]

    def _deduct(self, state: Any, other: Any) -> object:
        """Return the list of each aggregate's first state without its second one."""
        parts = zip(self._modules, state, other, strict=True)
        return [module.deduct(module_state, other_state) for module, module_state, other_state in parts]

    def continues_from(self, version: str) -> bool:
        """True if each aggregate continues from the version that it had.

        If an aggregate upgrades its states, the states of all are read as plain data: then none of the other aggregates
        may have records in its states.
        """
        versions = self._versions(version)
        if versions is None:
            return False
        has_upgrade = False
        has_records = False
        for name, module in zip(self._parts, self._modules, strict=True):
            if not module.continues_from(versions[name]):
                return False
            if _is_upgraded(module, versions[name]):
                has_upgrade = True
            elif _has_records(module.state_type()):
                has_records = True
        return not (self.is_incremental and has_upgrade and has_records)

    def _versions(self, version: str) -> dict[str, str] | None:
        """Split a version of this module into the version of each aggregate, by the name of its field.

        Returns:
            The versions; None for a version that was made for other aggregates, or with other names.
        """
        patterns = [f"{re.escape(f'{name}: {cls.name} ')}(.+)" for name, cls in self._parts.items()]
        match = re.fullmatch(", ".join(patterns), version)
        return None if match is None else dict(zip(self._parts, match.groups(), strict=True))

    def _upgrade_state(self, state: Any, version: str, *window: Window) -> object:
        """Upgrade the states of aggregates that have another version now; the others stay as they are."""
        versions = (self._versions(version) or {}).values()
        upgraded: list[object] = []
        for module, module_state, module_version in zip(self._modules, state, versions, strict=True):
            if _is_upgraded(module, module_version):
                module_window = self._window_for(module, window)
                upgraded.append(module.upgrade_state(module_state, module_version, *module_window))
            else:
                upgraded.append(module_state)
        return upgraded

    def _outdated_versions(self, version: str) -> dict[str, str]:
        """Return those versions of aggregates, by field, in a version of this module that are not the present ones."""
        outdated: dict[str, str] = {}
        versions = self._versions(version) or {}
        for (name, module_version), module in zip(versions.items(), self._modules, strict=True):
            if module_version != module.version:
                outdated[name] = module_version
        return outdated

    def _compute_result(self, states_or_members: Any, *window: Window) -> Any:
        """Return the result of each aggregate by its name: from the states if all are incremental, or the members."""
        results: dict[str, object] = {}
        for number, (name, module) in enumerate(zip(self._parts, self._modules, strict=True)):
            module_window = self._window_for(module, window)
            if self.is_incremental:
                argument = states_or_members[number]
            else:
                argument = self._members_for(module, states_or_members)
                if module.is_incremental:
                    # Beside an aggregate without a state, an incremental one computes from all members, too.
                    argument = module.add_events(module.create_state(*module_window), argument, *module_window)
            results[name] = module.compute_result(argument, *module_window)
        return results

    def _columnar_form(self, reads: object) -> ColumnarAggregate[Any, Any] | None:
        """Return the forms of all aggregates as one; None where one of them has none, or reads nulls."""
        forms = [module.columnar_form(reads) for module in self._modules]
        if not all(form is not None and form.skips_nulls for form in forms):
            return None
        from muntin_adapters.combinators.all_of_form import AllOfForm

        return AllOfForm(dict(zip(self._parts, forms, strict=True)), self._outdated_versions)

    def _each(self, method: str, states: Any, members: Sequence[object], window: object) -> Any:
        """Call a method of each aggregate with its state and the members, and return the list of new states.

        Args:
            method: Name of the method: `add_events` or `remove_events`.
            states: State of each aggregate, in the order of the fields.
            members: Payloads, or events if one of the aggregates is time-sensitive.
            window: The window as a tuple of one; empty if no aggregate is time-sensitive.
        """
        new_states: list[object] = []
        for module, state in zip(self._modules, states, strict=True):
            call = getattr(module, method)
            new_states.append(call(state, self._members_for(module, members), *self._window_for(module, window)))
        return new_states

    def _members_for(self, module: Any, members: Sequence[Any]) -> Sequence[Any]:
        """Return members as one aggregate gets them: bare payloads, unless it is time-sensitive itself."""
        if self.is_time_sensitive and not module.is_time_sensitive:
            return [event.payload for event in members]
        return members

    def _window_for(self, module: Any, window: Any) -> Any:
        """Return the last arguments of a call of one aggregate: the window, or none if it is not time-sensitive."""
        return window if module.is_time_sensitive else ()


@records_recipe
def _all_of(**parts: type[Module]) -> type[Any]:
    """Make the class of all aggregates in one; it accepts what each of them accepts, and needs what one of them needs.

    Raises:
        ModuleDefinitionError: The aggregates cannot be combined.
    """
    _refuse_unfit_parts(parts)
    payload = _common_payload(parts)
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


def _refuse_unfit_parts(parts: Mapping[str, type[Module]]) -> None:
    """Refuse operators, aggregates that need parameters, and aggregates that share no clip.

    Raises:
        ModuleDefinitionError: There are such parts, or none at all.
    """
    if not parts:
        raise ModuleDefinitionError("all_of() has no aggregates\n  expected: for example all_of(mean='stats.average')")
    for name, cls in parts.items():
        if cls.is_operator:
            raise ModuleDefinitionError(f"all_of({name}={cls.name}): it is an operator\n  expected: an aggregate")
        parameters = constructor_signature(cls).parameters.values()
        required = [parameter.name for parameter in parameters if _is_required(parameter)]
        if required:
            raise ModuleDefinitionError(
                f"all_of({name}={cls.name}): it needs {required[0]}\n"
                f"  to do: {name}=preset({cls.name!r}, {required[0]}=...)"
            )
    if not reduce(frozenset.intersection, (cls.accepted_clips for cls in parts.values())):
        clips = ", ".join(f"{name} accepts {sorted(map(str, cls.accepted_clips))}" for name, cls in parts.items())
        raise ModuleDefinitionError(f"all_of() has no clip that all accept: {clips}")


def _is_required(parameter: Any) -> bool:
    """Return True if a parameter has to be given: it has no default, and is none of `*` and `**`."""
    return parameter.default is parameter.empty and parameter.kind not in (
        parameter.VAR_POSITIONAL,
        parameter.VAR_KEYWORD,
    )


def _methods(parts: Mapping[str, type[Module]], *, is_incremental: bool) -> dict[str, object]:
    """Return the methods that all aggregates have."""

    def all_have(name: str) -> bool:
        return all(hasattr(cls, name) for cls in parts.values())

    # If one aggregate lacks a method, the whole has none: the engine would call it for all of them.
    called_methods = METHODS if is_incremental else ("compute_result",)
    names = [name for name in called_methods if all_have(name)]
    if is_incremental and any(hasattr(cls, "upgrade_state") for cls in parts.values()):
        names.append("upgrade_state")  # one is enough: states of aggregates without the method stay as they are
    methods = {name: getattr(_AllModules, f"_{name}") for name in names}
    if all_have("columnar_form"):
        methods["columnar_form"] = _AllModules._columnar_form
    return methods


def _is_upgraded(module: Any, version: str) -> bool:
    """Return True if states that a version of a module wrote have to go through its `upgrade_state`."""
    return version != module.version and hasattr(module, "upgrade_state")


def _has_records(annotation: object) -> bool:
    """Return True if a type has a dataclass or a named tuple in it, at any depth."""
    cls = get_origin(annotation) or annotation
    return is_dataclass(cls) or hasattr(cls, "_fields") or any(map(_has_records, get_args(annotation)))


def _common_payload(parts: Mapping[str, type[Module]]) -> object:
    """Return the one type that all aggregates read: a type variable where several types would do.

    Raises:
        ModuleDefinitionError: There is no type that all read.
    """
    accept_nulls = True
    accept_anything = True
    accepted_types: dict[str, tuple[object, ...]] = {}  # by the name of the aggregate, unless it takes any type
    for name, cls in parts.items():
        bare_type, is_nullable = without_null(types_of(cls).payload)
        accept_nulls = accept_nulls and is_nullable
        accept_anything = accept_anything and bare_type is Any
        types = _accepted_types(bare_type)
        if types:
            accepted_types[name] = types
    if accept_anything:
        return Any
    # Types that all aggregates read: with one left it is the payload, with several a variable of these.
    common_payload: Any = Payload
    if accepted_types:
        first_types, *other_types = accepted_types.values()
        common_types = list(first_types)
        for types in other_types:
            common_types = [accepted for accepted in common_types if accepted in types]
        if not common_types:
            raise _no_common_type(accepted_types)
        if len(common_types) == 1:
            common_payload = common_types[0]
        else:
            variable: Any = TypeVar
            common_payload = variable("Payload", *common_types)
    return with_null(common_payload) if accept_nulls else common_payload


def _no_common_type(accepted_types: Mapping[str, Sequence[object]]) -> ModuleDefinitionError:
    """Return the error of aggregates that read different types, with the types of each."""
    inputs: list[str] = []
    for name, types in accepted_types.items():
        spelled = " or ".join(spell(describe(accepted)) for accepted in types)
        inputs.append(f"{name} reads {spelled}")
    return ModuleDefinitionError(
        f"all_of() is of one payload, but {', '.join(inputs)}\n  to do: convert it with mapping()"
    )


def _with_payload_type(result: Field, reads: Field, payload: Field) -> Field:
    """Return an aggregate's result, with its type variable bound to the payload's type."""
    variable = reads.type
    if isinstance(variable, Variable) and variable.name:
        return bind(result, {variable.name: Field("", payload.type)})
    return result


def _accepted_types(bare_type: Any) -> tuple[object, ...]:
    """Return the types that a payload may have; empty where it may have any."""
    if is_variable(bare_type):
        return tuple(bare_type.__constraints__)
    return () if bare_type is Any else (bare_type,)


def _result(cls: type[Module], payload: object) -> Any:
    """Return the type of an aggregate's result where it reads a payload of a type."""
    types = types_of(cls)
    variable, _ = without_null(types.payload)
    if not is_variable(variable):
        return types.result
    bare_payload, _ = without_null(payload)
    return substituted(types.result, {variable: bare_payload})
