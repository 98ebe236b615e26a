"""Laws of a module's class: what a query needs to know before it runs."""

from __future__ import annotations

import difflib
from typing import Final

from muntin.errors import ModuleDefinitionError
from muntin.events import Event
from muntin.modules.module import Module
from muntin.modules.needs import Needs
from muntin.policies import ClipPolicy, TimestampPolicy
from muntin.testing.fitting import misfit
from muntin.testing.laws.law import law
from muntin.testing.laws.module_laws import ModuleLaws
from muntin.testing.laws.module_trial import ModuleTrial

_CALLED: Final = (
    "create_state",
    "add_events",
    "remove_events",
    "combine",
    "deduct",
    "compute_result",
    "columnar_form",
)
_SIMILAR: Final = 0.75


class DefinitionLaws(ModuleLaws):
    """Every module says what it is called, what it takes and what it returns."""

    @law("complete the class attributes, the types in brackets and the methods", is_random=False)
    def test_definition_is_complete(self, trial: ModuleTrial) -> None:
        """The class has a name, a version, types and every method that its base class asks for, rightly spelt."""
        module = type(trial.subject.module)
        try:
            module.check_definition()
        except ModuleDefinitionError as error:
            raise trial.broken(str(error)) from None
        for complaint in [*_complaints(module), *_complaints_of_needs(trial.subject.module)]:
            raise trial.broken(complaint)

    @law(
        "return what the class declares, on every path, or declare None too: float | None; NumPy's numbers are numbers"
    )
    def test_result_has_declared_type(self, trial: ModuleTrial) -> None:
        """Every result, and every row of an operator, fits the declared result type."""
        module = trial.subject.module
        result = trial.subject.result(trial.members())
        for value in result if module.is_operator else [result]:
            bare = value.payload if isinstance(value, Event) else value
            reason = misfit(module.result_field(), bare)
            if reason:
                raise trial.broken(f"the result {bare!r} does not fit: {reason}")


def _complaints(module: type[Module]) -> list[str]:
    found = [f"it defines {name}, which nothing calls; did you mean {meant}?" for name, meant in _misspelt(module)]
    if hasattr(module, "deduct") and not hasattr(module, "combine"):
        found.append("it defines deduct, which undoes combine, but no combine")
    if module.reads_order and hasattr(module, "columnar_form"):
        found.append("it reads the order, and defines columnar_form, for which rows are in none")
    if not module.accepted_clips or not module.accepted_clips <= set(ClipPolicy):
        found.append(f"accepted_clips is {set(module.accepted_clips)}, expected at least one ClipPolicy")
    return found


def _complaints_of_needs(module: Module) -> list[str]:
    needs: object = module.needs
    if not isinstance(needs, Needs):
        return [f"needs is {needs!r}, expected for example Needs(windows=(HoppingWindows,), reach=10)"]
    found = ["needs names no windows, so no query could have the module"] * (not needs.windows)
    if needs.clip is not None and needs.clip not in module.accepted_clips:
        found.append(f"it is made for clip={str(needs.clip)!r}, which is not among its accepted_clips")
    if needs.timestamps in (TimestampPolicy.UNCHANGED, TimestampPolicy.CLIP) and not (
        module.is_time_sensitive and module.is_operator
    ):
        found.append(f"it is made for timestamps={str(needs.timestamps)!r}, and returns no lifetimes")
    return found


def _misspelt(module: type[Module]) -> list[tuple[str, str]]:
    bases = [cls for cls in module.__mro__ if cls.__module__.startswith("muntin.modules.")]
    known = {*_CALLED, "upgrade_state", *(name for base in bases for name in vars(base))}
    own = [name for name in dir(module) if name not in known and not name.startswith("_")]
    methods = [name for name in own if callable(getattr(module, name))]
    close = {name: difflib.get_close_matches(name, _CALLED, 1, _SIMILAR) for name in methods}
    return [(name, match) for name, matches in close.items() for match in matches]
