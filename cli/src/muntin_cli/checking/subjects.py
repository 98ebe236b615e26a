"""The testable offers of a package: modules, triggers and windows, made with parameters, and functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muntin import Function, Module
from muntin.catalog import Plugin
from muntin.errors import ParameterError
from muntin.triggers import Trigger
from muntin.windows import WindowSpecification
from muntin_cli.parameters import example_of

Given = Mapping[str, Mapping[str, Any]]
"""Parameters by the name of the module that they are for."""


@dataclass(frozen=True, slots=True)
class CheckedSubject:
    """A module, a function, a trigger or windows.

    Attributes:
        label: Its name and version, and the parameters that it was made with.
        offered: An instance, or the function.
    """

    label: str
    offered: Module | Function[..., Any] | Trigger | WindowSpecification


@dataclass(frozen=True, slots=True)
class Subjects:
    """The testable offers that were found, and those that were not.

    Attributes:
        found: What can be tried.
        unmade: The names of modules, triggers and kinds for which no parameters were found, with why.
    """

    found: tuple[CheckedSubject, ...]
    unmade: Mapping[str, str]


def subjects_in(plugins: Sequence[Plugin], given: Given) -> Subjects:
    """Return the modules, functions, triggers and kinds of windows of plugins.

    Args:
        plugins: Where they are looked for.
        given: Parameters that the user knows; what is required besides is looked for by its type.
    """
    found: list[CheckedSubject] = []
    unmade: dict[str, str] = {}
    for plugin in plugins:
        classes: dict[str, type[Module] | type[Trigger] | type[WindowSpecification]] = {
            **plugin.modules,
            **plugin.triggers,
            **plugin.windows,
        }
        for name, cls in classes.items():
            made = _made(cls, given.get(name, {}))
            if isinstance(made, CheckedSubject):
                found.append(made)
            else:
                unmade[name] = made
        found += [CheckedSubject(f"{name} {function.version}", function) for name, function in plugin.functions.items()]
    return Subjects(tuple(found), unmade)


def _made(
    cls: type[Module] | type[Trigger] | type[WindowSpecification], given: Mapping[str, Any]
) -> CheckedSubject | str:
    try:
        example = example_of(cls, given)
    except ParameterError as error:
        return str(error)
    if example is None:
        return f"no parameters were found that its constructor accepts\n  give them: --with {cls.name}:<name>=<value>"
    made, parameters = example
    told = f" with {', '.join(f'{name}={value!r}' for name, value in parameters.items())}" if parameters else ""
    return CheckedSubject(f"{cls.name} {cls.version}{told}", made)
