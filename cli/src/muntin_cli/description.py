"""The description of one module, function, trigger or kind of windows, for its users."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from muntin import ClipPolicy, Function, Module, TimestampPolicy
from muntin.catalog import Catalog, Plugin
from muntin.errors import ParameterError
from muntin.query_checks import clip_of, timestamps_of
from muntin.triggers import Trigger
from muntin.windows import WindowSpecification
from muntin_cli.evaluation import Evaluation, can_evaluate, evaluations_of
from muntin_cli.laws import has_laws
from muntin_cli.listing import Offer, offer_of
from muntin_cli.offered import code_of, documentation_of, find_offered
from muntin_cli.parameters import Parameter, example_of, parameters_of
from muntin_cli.shapes import capabilities_of, contract_of
from muntin_cli.windows import draw_kind

M = TypeVar("M", bound=Module | Trigger | WindowSpecification)


@dataclass(frozen=True, slots=True)
class Description:
    """A module, function, trigger or kind of windows.

    Attributes:
        offer: Name, version and types, and the package that it comes from.
        parameters: Parameters of the constructor, or arguments of the function.
        example: Parameters with which the constructor was tried, where some are required; None where none were found.
        state: Type of the state as Python writes it; empty for none.
        capabilities: Optional methods that it has beyond its base class.
        clips: Clips under which it is right.
        needs: Requirements on a query's windows, in words; empty where any will do.
        default_clip: Clip of a query that names none.
        default_timestamps: Timestamps of a query that names none.
        contract: Operator's guarantee about the lifetimes that it sets; empty for others.
        laws: Laws of its base class that apply to it, by name; empty where the libraries that try them are missing.
        evaluations: Evaluation under each kind of window; empty without the engine.
        documentation: Docstring.
        drawing: Three events, and the windows that a kind makes of them; empty for others.
    """

    offer: Offer
    parameters: tuple[Parameter, ...]
    example: Mapping[str, Any] | None
    state: str = ""
    capabilities: tuple[str, ...] = ()
    clips: tuple[str, ...] = ()
    needs: str = ""
    default_clip: str = ""
    default_timestamps: str = ""
    contract: str = ""
    laws: Mapping[str, str] = field(default_factory=dict)
    evaluations: tuple[Evaluation, ...] = ()
    documentation: str = ""
    drawing: str = ""


def describe(catalog: Catalog, name: str, parameters: Mapping[str, object] | None = None) -> Description:
    """Return the description of a module, function, trigger or kind of windows.

    Args:
        catalog: Catalog of the installed plugins.
        name: Full name of a module, function, trigger or kind of windows.
        parameters: Parameters to make the module with; by default examples of their types.

    Raises:
        UnknownModuleError: No plugin offers the name.
        PluginLoadError: The plugin of the name cannot be loaded.
        ParameterError: The constructor does not take the parameters.
    """
    offered = find_offered(catalog, name)
    plugin = catalog.plugin(name)
    if isinstance(offered, Function):
        return _describe_function(offered, plugin)
    if issubclass(offered, Module):
        return _describe_module(offered, plugin, parameters or {}, catalog)
    return _describe_trigger_or_windows(offered, plugin, parameters or {})


def _describe_function(function: Function[..., Any], plugin: Plugin) -> Description:
    """Describe a function; it is its own example, as no parameters make it."""
    return Description(
        offer_of(function, plugin),
        tuple(parameters_of(code_of(function))),
        example={},
        laws=_laws_of(function),
        documentation=documentation_of(function),
    )


def _describe_trigger_or_windows(
    cls: type[Trigger] | type[WindowSpecification], plugin: Plugin, parameters: Mapping[str, object]
) -> Description:
    """Describe a trigger or a kind of windows; the laws and the drawing are known where an example can be made."""
    description = Description(
        offer_of(cls, plugin),
        tuple(parameters_of(cls)),
        example=None,
        documentation=documentation_of(cls),
    )
    example = _example_of(cls, parameters)
    if example is None:
        return description
    instance, example_parameters = example
    return replace(
        description,
        example=example_parameters,
        laws=_laws_of(instance),
        drawing=draw_kind(instance) if isinstance(instance, WindowSpecification) else "",
    )


def _describe_module(
    cls: type[Module], plugin: Plugin, parameters: Mapping[str, object], catalog: Catalog
) -> Description:
    """Describe a module class; what depends on parameters is known where an example can be made."""
    description = Description(
        offer_of(cls, plugin),
        tuple(parameters_of(cls)),
        example=None,
        state=_spell_state(cls.state_type()),
        clips=tuple(str(policy) for policy in ClipPolicy if policy in cls.accepted_clips),
        contract=str(contract_of(cls) or ""),
        documentation=documentation_of(cls),
    )
    example = _example_of(cls, parameters)
    if example is None:
        return description
    # Needs, defaults, laws and evaluations depend on the parameters, so they are those of the example.
    module, example_parameters = example
    return replace(
        description,
        example=example_parameters,
        capabilities=tuple(capabilities_of(module)),
        needs=str(module.needs),
        default_clip=str(clip_of([module]) or ClipPolicy.NONE),
        default_timestamps=str(timestamps_of([module]) or TimestampPolicy.ALIGN),
        laws=_laws_of(module),
        evaluations=tuple(evaluations_of(module, example_parameters, catalog)) if can_evaluate() else (),
    )


def _laws_of(subject: Module | Function[..., Any] | Trigger | WindowSpecification) -> Mapping[str, str]:
    """Return the laws that apply to an offer, with their statements; none where the kit for tests is missing."""
    if not has_laws():
        return {}
    from muntin.testing import laws_applying_to

    return laws_applying_to(subject)


def _example_of(cls: type[M], parameters: Mapping[str, object]) -> tuple[M, dict[str, object]] | None:
    """Return an instance and its parameters; None where none can be made here, for example as a library is missing.

    Raises:
        ParameterError: The constructor does not take the parameters of the user.
    """
    try:
        return example_of(cls, parameters)
    except ParameterError:
        if parameters:
            raise
        return None


def _spell_state(annotation: object) -> str:
    """Return the type of a state as Python writes it, without the `~` of type variables; empty for no state."""
    return "" if annotation is None else inspect.formatannotation(annotation).replace("~", "")
