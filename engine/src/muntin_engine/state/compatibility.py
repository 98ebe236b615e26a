"""Compatibility of a query with a stored state: whether it can go on with the state, and what changes if it does.

`schema_versions` has the reading of log entries that an older version of the query wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from muntin import Module
from muntin.catalog.named_windows import continues_windows
from muntin.definitions.versions import continues
from muntin.windows import WindowSpecification
from muntin_engine.errors import StateMismatchError
from muntin_engine.state.compatibility_advice import (
    advice_on_functions,
    advice_on_modules,
    advice_on_types,
    advice_on_windows,
)
from muntin_engine.state.differences import ModuleIdentity, QueryIdentity, differences_between, spell_module
from muntin_engine.state.schema_versions import SchemaVersion, bound_modules, columns_read, stored_positions

MODULES_SHARE_STATE: Final = "the state of each key has what all of them made of its rows"
"""The reason why aggregates cannot be added to most states or removed from them."""


class Changes(NamedTuple):
    """Changes of a query that goes on with a state.

    Attributes:
        new_modules: The modules that are new and see no row of the state, in words.
        dropped_modules: The modules that are not computed any more, in words.
        new_sources: The sources for which the watermark waits from now on.
        dropped_sources: The sources for which the watermark does not wait any more.
    """

    new_modules: Sequence[str]
    dropped_modules: Sequence[str]
    new_sources: Sequence[str]
    dropped_sources: Sequence[str]


class _MatchedModules(NamedTuple):
    """The modules of a state and those of a query that is to go on with it.

    Attributes:
        stored: The schema version of the state.
        places: For each module of the query its place in the state; None if it is new.
        new_places: The places in the query of the new modules.
        dropped_places: The places in the state of the modules that the query does not have.
    """

    stored: SchemaVersion
    places: Sequence[int | None]
    new_places: Sequence[int]
    dropped_places: Sequence[int]


@dataclass(frozen=True)
class Compatibility:
    """The identity of a query, and the modules that may continue from states of their older versions.

    Attributes:
        identity: The properties that the state depends on, as plain data.
        modules: The modules of the query.
        forms: The columnar forms of the modules, where the state holds components.
        windows: The windows of the query; several in the order of their names in the identity.
        why_fixed: The reason why modules cannot be added and removed; empty if they can.
        holds_rows: True if the state holds rows, from which modules are computed when windows close.
        begins_empty: For each module, True if its part of a state says whether any row is in it, so that the module can
            be added to a state.
    """

    identity: QueryIdentity
    modules: Sequence[Module] = ()
    forms: Sequence[Any] = ()
    windows: Sequence[WindowSpecification] = ()
    why_fixed: str = MODULES_SHARE_STATE
    holds_rows: bool = False
    begins_empty: Sequence[bool] = ()

    def check(self, stored: QueryIdentity) -> None:
        """Check that the query can go on with a state.

        Args:
            stored: The identity of the query that wrote the state.

        Raises:
            StateMismatchError: The query cannot go on with the state.
        """
        # What differs from the query after `_continued`, keeps the query from going on.
        continued = self._continued(stored)
        differences = differences_between(continued, self.identity)
        if differences:
            advice = (
                *advice_on_types(differences),
                *advice_on_functions(continued, self.identity),
                *advice_on_windows(continued, self.identity),
                *self._why_modules_stay(continued),
                *advice_on_modules(self.modules, continued, self.identity),
            )
            raise StateMismatchError(differences, advice)

    def schema_versions(self, stored: Sequence[SchemaVersion]) -> list[SchemaVersion]:
        """Return the schema versions of a state, with that of the query as the last one.

        Args:
            stored: The schema versions as they are stored, the latest last.
        """
        present = SchemaVersion.present(self.identity)
        has_present = bool(stored) and stored[-1].is_written_as(present)
        earlier_versions = stored[:-1] if has_present else stored
        # The places of a version follow from those of the next one: so they are found from the last version back.
        versions = [present]
        for version in reversed(earlier_versions):
            versions.insert(0, version.before(versions[0]))
        return versions

    def changes(self, stored: QueryIdentity) -> Changes:
        """Return the changes between the query that wrote a state, and this one, which can go on with it."""
        matched = self._matched_modules(stored)
        # Where the state holds rows, a new module is computed from these like any other: then it is no change.
        new_modules: list[str] = []
        if not self.holds_rows:
            modules = self.identity.get("modules", ())
            new_modules = [spell_module(modules[place], self.identity) for place in matched.new_places]
        stored_sources = _sources(stored)
        sources = _sources(self.identity)
        return Changes(
            new_modules=new_modules,
            dropped_modules=[spell_module(stored["modules"][place], stored) for place in matched.dropped_places],
            new_sources=[source for source in sources if source not in stored_sources],
            dropped_sources=[source for source in stored_sources if source not in sources],
        )

    def _matched_modules(self, stored: QueryIdentity) -> _MatchedModules:
        """Match the modules of the query with those of a state."""
        version = SchemaVersion.of(stored)
        places = stored_positions(version.modules, bound_modules(self.identity))
        new_places = [place for place, stored_place in enumerate(places) if stored_place is None]
        dropped_places = [place for place in range(len(version.modules)) if place not in places]
        return _MatchedModules(version, places, new_places, dropped_places)

    def _why_not_added(self, place: int, stored: SchemaVersion) -> str:
        """Return the reason why a module cannot be added to a state; empty if it can."""
        module = ModuleIdentity.of(self.identity["modules"][place])
        if self.holds_rows:
            missing_columns: list[str] = []
            for column in columns_read(module, self.identity):
                if column not in stored.inputs:
                    missing_columns.append(str(column[0]))
            if not missing_columns:
                return ""
            return f"the rows that the checkpoint holds have no {', '.join(missing_columns)}"
        if self.begins_empty[place]:
            return ""
        return f"{module.name} takes nulls, so its state does not tell whether any row of a window is in it"

    def _why_modules_stay(self, stored: QueryIdentity) -> Iterator[str]:
        """Yield the reasons why modules that were added or removed keep the query from going on."""
        matched = self._matched_modules(stored)
        if self.why_fixed:
            # If as many modules are new as were dropped, modules have changed: `advice_on_modules` is about these.
            if len(matched.new_places) != len(matched.dropped_places):
                yield f"aggregates cannot be added or removed here: {self.why_fixed}"
            return
        if matched.new_places and matched.dropped_places:
            yield "aggregates may be removed in one start and added in the next, not both at once"
            return
        for place in matched.new_places:
            reason = self._why_not_added(place, matched.stored)
            if reason:
                yield f"it cannot be added: {reason}"

    def _continued(self, stored: QueryIdentity) -> QueryIdentity:
        """Return the identity of a state, with the query's own parts wherever the query can go on from the stored ones.

        A part that still differs from that of the query keeps the query from going on.
        """
        # The windows, the code, and which modules and sources there are.
        windows: dict[str, object] = {}
        for name in ("window", "windows"):
            if name in stored:
                windows[name] = self._continued_windows(name, stored)
        code = self._continued_code(stored)
        stored = self._with_modules(stored)
        stored = _with_sources(stored, self.identity)
        modules = list(stored.get("modules", ()))
        components = list(stored.get("components", ()))
        if len(modules) != len(self.modules):
            return {**stored, **windows, **code}  # the modules differ, whatever their versions

        # The versions of modules; and the components of their columnar forms, if a form upgrades older states.
        for place, module in enumerate(self.modules):
            stored_module = ModuleIdentity.of(modules[place])
            present_data = self.identity["modules"][place]
            present_module = ModuleIdentity.of(present_data)
            if stored_module.version == present_module.version or not _goes_on(module, stored_module, present_module):
                continue
            modules[place] = present_data
            has_components = place < len(components) and place < len(self.forms)
            if has_components and hasattr(self.forms[place], "upgrade_state"):
                components[place] = self.identity["components"][place]

        # Only parts that the stored identity has are replaced, except code: an older state may not have any.
        continued = {"modules": modules, "components": components, **windows}
        return {name: continued.get(name, value) for name, value in stored.items()} | code

    def _with_modules(self, stored: QueryIdentity) -> QueryIdentity:
        """Return the identity of a state with the query's modules, if the query can go on with the state.

        Modules may be added, which begin without rows, or dropped. Both at once is refused, since it cannot be told
        from a module that changed.
        """
        matched = self._matched_modules(stored)
        is_changed = matched.new_places and matched.dropped_places
        if self.why_fixed or is_changed:
            return stored
        if any(self._why_not_added(place, matched.stored) for place in matched.new_places):
            return stored

        # The modules of the query, but with the stored version and components of each that the state has. Where states
        # hold no components, the list of these is empty.
        modules: list[Any] = []
        for module, stored_place in zip(self.identity.get("modules", ()), matched.places, strict=True):
            name, version, *other_parts = module
            stored_version = version if stored_place is None else matched.stored.versions[stored_place]
            modules.append([name, stored_version, *other_parts])
        components: list[Any] = []
        for component, stored_place in zip(self.identity.get("components", ()), matched.places, strict=False):
            components.append(component if stored_place is None else matched.stored.components[stored_place])
        parts = {"modules": modules, "components": components, "inputs": self.identity.get("inputs")}
        return {name: parts.get(name, value) for name, value in stored.items()}

    def _continued_code(self, stored: QueryIdentity) -> dict[str, object]:
        """Return the functions and the hashes of code with which those of the query are compared.

        They are the query's own, except where the query cannot go on from the stored ones: there the stored ones stand,
        so the comparison finds the difference.

        Names that only the state or only the query has are no difference here: either the expressions differ, which is
        reported, or no result reads the function.
        """
        if "code" not in self.identity:
            return {}
        # By name: the version, and the oldest version that this one continues from. A stored version from which the
        # query's own does not continue stays.
        functions = dict(self.identity["functions"])
        stored_functions = stored.get("functions", {})
        for name, (version, continues_since) in self.identity["functions"].items():
            stored_version = stored_functions.get(name, [version])[0]
            if not continues(version, stored_version, continues_since, upgrades=False):
                functions[name] = [stored_version, continues_since]

        # By name: the hash of the code, the version, and whether a new version is required when the hash changes. The
        # stored hash stays where the version is the same: if the code has changed, that is a difference.
        code = dict(self.identity["code"])
        stored_code = stored.get("code", {})
        for name, (_, version, is_required) in self.identity["code"].items():
            if is_required and name in stored_code and stored_code[name][1] == version:
                code[name] = [stored_code[name][0], version, is_required]
        return {"functions": functions, "code": code}

    def _continued_windows(self, name: str, stored: QueryIdentity) -> object:
        """Return the windows of a state, or the query's own where their kinds go on from the versions of the state.

        Args:
            name: The part of the identity: `window`, or `windows` if there are several, each under its name.
            stored: The identity of the state.
        """
        stored_windows = stored[name]
        present_windows = self.identity.get(name)
        if not isinstance(stored_windows, Mapping) or not isinstance(present_windows, Mapping):
            return stored_windows
        if name == "window":
            goes_on = bool(self.windows) and continues_windows(stored_windows, self.windows[0])
        else:
            # A query has as many names as windows, or no name: then its only window is compared as `window`.
            windows = dict(zip(present_windows, self.windows, strict=False))
            goes_on = set(stored_windows) == set(windows)
            for window_name, window in windows.items():
                goes_on = goes_on and continues_windows(stored_windows[window_name], window)
        return present_windows if goes_on else stored_windows


def _sources(identity: QueryIdentity) -> list[str]:
    """Return the names of all sources, with that of their input where there are several."""
    if "several" not in identity:
        return list(identity.get("sources", ()))
    names: list[str] = []
    for input_name, input_identity in identity["several"]:
        names += [f"{input_name}.{source}" for source in _sources(input_identity)]
    return names


def _with_sources(stored: QueryIdentity, present: QueryIdentity) -> QueryIdentity:
    """Return the identity of a state with the query's sources, if the query can go on with other sources.

    It can if the two have a source in common, if both have rules of sources or neither has, and if the rule is the same
    for each source that both have one for.
    """
    if "several" in stored and _input_names(stored) == _input_names(present):
        inputs: list[Any] = []
        for (name, stored_input), (_, present_input) in zip(stored["several"], present["several"], strict=True):
            inputs.append([name, _with_sources(stored_input, present_input)])
        return {**stored, "several": inputs}

    stored_sources = stored.get("sources")
    sources = present.get("sources")
    if not stored_sources or not sources or not set(stored_sources) & set(sources):
        return stored
    stored_rules = _rules(stored)
    rules = _rules(present)
    if bool(stored_rules) is not bool(rules):
        return stored
    for source, stored_rule in stored_rules.items():
        if source in rules and rules[source] != stored_rule:
            return stored
    with_sources = {**stored, "sources": sources}
    if rules:
        with_sources["rules"] = present["rules"]
    return with_sources


def _input_names(identity: QueryIdentity) -> list[str]:
    """Return the names of several inputs."""
    return [name for name, _ in identity.get("several", ())]


def _rules(identity: QueryIdentity) -> dict[str, Any]:
    """Return the rules of sources by their names."""
    return {source: rule for source, *rule in identity.get("rules", ())}


def _goes_on(module: Module, stored: ModuleIdentity, present: ModuleIdentity) -> bool:
    """Return True if a module goes on from the version of the module that wrote a state."""
    differs_in_version_alone = stored._replace(version=present.version) == present
    return differs_in_version_alone and module.continues_from(stored.version)
