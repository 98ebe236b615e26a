"""Everything there is to say about one module, function, trigger or kind of windows."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
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
        offer: What it is, and where it comes from.
        parameters: Its parameters, or the arguments of a function.
        example: Parameters with which its constructor was tried, where some are required; None where none were found.
        state: The type of its state as Python writes it; empty where it has none.
        capabilities: What it can do beyond its base class.
        clips: The clips under which it is right.
        needs: What it needs of a query's windows, in words; empty where any will do.
        default_clip: The clip of a query that names none.
        default_timestamps: The timestamps of a query that names none.
        contract: An operator's guarantee about the lifetimes that it sets; empty for others.
        laws: The laws of its base class that apply to it, by name; empty without what they are tried with.
        evaluations: How each kind of window is evaluated; empty without the engine.
        documentation: Its docstring.
        drawing: Three events, and the windows that a kind makes of them; empty for others.
    """

    offer: Offer
    parameters: tuple[Parameter, ...]
    example: Mapping[str, Any] | None
    state: str
    capabilities: tuple[str, ...]
    clips: tuple[str, ...]
    needs: str
    default_clip: str
    default_timestamps: str
    contract: str
    laws: Mapping[str, str]
    evaluations: tuple[Evaluation, ...]
    documentation: str
    drawing: str = ""


def describe(catalog: Catalog, name: str, given: Mapping[str, object] | None = None) -> Description:
    """Return the description of a module, function, trigger or kind of windows.

    Args:
        catalog: What is installed.
        name: The full name of a module, function, trigger or kind of windows.
        given: Parameters to make the module with; by default examples of their types.

    Raises:
        UnknownModuleError: No plugin offers the name.
        PluginLoadError: Its plugin cannot be loaded.
        ParameterError: The module's constructor does not take what is given.
    """
    offered = find_offered(catalog, name)
    plugin = catalog.plugin(name)
    if isinstance(offered, type) and issubclass(offered, Module):
        return _describe_module(offered, plugin, given or {}, catalog)
    return _describe_other(offered, plugin, given or {})


def _describe_other(
    offered: Function[..., object] | type[Trigger] | type[WindowSpecification],
    plugin: Plugin,
    given: Mapping[str, object],
) -> Description:
    found = (offered, {}) if isinstance(offered, Function) else _example_of(offered, given)
    return Description(
        offer_of(offered, plugin),
        tuple(parameters_of(code_of(offered))),
        found and found[1],
        state="",
        capabilities=(),
        clips=(),
        needs="",
        default_clip="",
        default_timestamps="",
        contract="",
        laws=_laws_of(found[0]) if found else {},
        evaluations=(),
        documentation=documentation_of(offered),
        drawing=draw_kind(found[0]) if found and isinstance(found[0], WindowSpecification) else "",
    )


def _describe_module(cls: type[Module], plugin: Plugin, given: Mapping[str, object], catalog: Catalog) -> Description:
    found = _example_of(cls, given)
    module, parameters = found or (None, None)
    return Description(
        offer_of(cls, plugin),
        tuple(parameters_of(cls)),
        parameters,
        state=_spell_state(cls.state_type()),
        capabilities=() if module is None else tuple(capabilities_of(module)),
        clips=tuple(str(policy) for policy in ClipPolicy if policy in cls.accepted_clips),
        needs="" if module is None else str(module.needs),
        default_clip="" if module is None else str(clip_of([module]) or ClipPolicy.NONE),
        default_timestamps="" if module is None else str(timestamps_of([module]) or TimestampPolicy.ALIGN),
        contract=str(contract_of(cls) or ""),
        laws={} if module is None else _laws_of(module),
        evaluations=tuple(evaluations_of(*found, catalog)) if found and can_evaluate() else (),
        documentation=documentation_of(cls),
    )


def _laws_of(subject: Module | Function[..., Any] | Trigger | WindowSpecification) -> Mapping[str, str]:
    if not has_laws():
        return {}
    from muntin.testing import laws_applying_to

    return laws_applying_to(subject)


def _example_of(cls: type[M], given: Mapping[str, object]) -> tuple[M, dict[str, object]] | None:
    """Return a module and its parameters; None where it cannot be made here, for example as a library is missing."""
    try:
        return example_of(cls, given)
    except ParameterError:
        if given:
            raise
        return None


def _spell_state(annotation: object) -> str:
    return "" if annotation is None else inspect.formatannotation(annotation).replace("~", "")
