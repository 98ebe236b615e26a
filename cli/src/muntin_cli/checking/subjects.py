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

ParametersByModule = Mapping[str, Mapping[str, Any]]
"""Parameters of constructors, by the name of the module, trigger or kind of windows."""


@dataclass(frozen=True, slots=True)
class CheckedSubject:
    """A module, a function, a trigger or windows.

    Attributes:
        label: Name and version, and the parameters that it was made with.
        offered: Instance of a module, trigger or kind of windows; or a function.
    """

    label: str
    offered: Module | Function[..., Any] | Trigger | WindowSpecification


@dataclass(frozen=True, slots=True)
class Subjects:
    """The offers of plugins, made for trying where that is possible.

    Attributes:
        made: Subjects that can be tried.
        unmade: Reason why no instance could be made, by the name of the module, trigger or kind.
    """

    made: tuple[CheckedSubject, ...]
    unmade: Mapping[str, str]


def subjects_in(plugins: Sequence[Plugin], parameters: ParametersByModule) -> Subjects:
    """Make instances of the modules, triggers and kinds of windows of plugins; functions are subjects as they are.

    Args:
        plugins: Plugins with the offers.
        parameters: Parameters that the user knows; others that a constructor requires are chosen by their types.
    """
    subjects: list[CheckedSubject] = []
    unmade: dict[str, str] = {}
    for plugin in plugins:
        # A class is tried by an instance, for which parameters may have to be chosen; a function is tried as it is.
        classes: dict[str, type[Module] | type[Trigger] | type[WindowSpecification]] = {
            **plugin.modules,
            **plugin.triggers,
            **plugin.windows,
        }
        for name, cls in classes.items():
            try:
                example = example_of(cls, parameters.get(name, {}))
            except ParameterError as error:
                unmade[name] = str(error)
                continue
            if example is None:
                unmade[name] = (
                    f"no parameters were found that its constructor accepts\n  give them: --with {name}:<name>=<value>"
                )
                continue
            offered, example_parameters = example
            subjects.append(CheckedSubject(_label(cls, example_parameters), offered))
        for name, function in plugin.functions.items():
            subjects.append(CheckedSubject(f"{name} {function.version}", function))
    return Subjects(tuple(subjects), unmade)


def _label(cls: type[Module] | type[Trigger] | type[WindowSpecification], parameters: Mapping[str, object]) -> str:
    """Return the name of a subject, with its version and its parameters."""
    label = f"{cls.name} {cls.version}"
    if not parameters:
        return label
    return f"{label} with {', '.join(f'{name}={value!r}' for name, value in parameters.items())}"
