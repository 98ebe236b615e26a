"""Compatibility of stored state with a query, or with an older version of it.

Each bucket numbers the schema versions that it has seen, and each part of its state has the number of the one that
wrote it. So a state may be read several versions later, and nothing is rewritten because a module is new.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from muntin import Module
from muntin.named_windows import continues_windows
from muntin.versions import continues, is_newer, is_same_version
from muntin.windows import WindowSpecification
from muntin_engine.errors import StateMismatchError
from muntin_engine.state.differences import QueryIdentity, differences_between


class SchemaVersion(NamedTuple):
    """The modules of a query as they were when a part of its state was written.

    Attributes:
        versions: The version of each module.
        components: What the columnar form of each kept, as plain data; none where they have no part in the state.
    """

    versions: Sequence[str] = ()
    components: Sequence[Any] = ()

    @classmethod
    def of(cls, identity: QueryIdentity) -> SchemaVersion:
        """Return the schema version of a query."""
        return cls([version for _, version, *_ in identity.get("modules", ())], list(identity.get("components", ())))


def is_outdated(module: Module, version: str) -> bool:
    """Return True if states that a version of a module wrote are to be upgraded, and not read as they are."""
    return hasattr(module, "upgrade_state") and not is_same_version(module.version, version)


@dataclass(frozen=True)
class Compatibility:
    """The identity of a query, and the modules that may continue from states of their older versions.

    Attributes:
        identity: The properties that the state depends on, as plain data.
        modules: The modules of the query.
        forms: Their columnar forms, where the state holds components.
        windows: The windows of the query; several in the order of their names in the identity.
    """

    identity: QueryIdentity
    modules: Sequence[Module] = ()
    forms: Sequence[Any] = ()
    windows: Sequence[WindowSpecification] = ()

    def check(self, stored: QueryIdentity) -> None:
        """Raise unless the query can go on with a state.

        Args:
            stored: What that state depends on.

        Raises:
            StateMismatchError: It cannot.
        """
        reached = self._reached(stored)
        differences = differences_between(reached, self.identity)
        if differences:
            raise StateMismatchError(differences, tuple(self._remedies(reached)))

    def schema_versions(self, known: Sequence[SchemaVersion]) -> list[SchemaVersion]:
        """Return the schema versions of a state, with that of the query as the last one."""
        own = SchemaVersion.of(self.identity)
        return [*known] if known and known[-1] == own else [*known, own]

    def _reached(self, stored: QueryIdentity) -> QueryIdentity:
        """Return the identity of a state, with the query's own versions where its modules continue from others."""
        windows = {name: self._windows_reached(name, stored) for name in ("window", "windows") if name in stored}
        code = self._code_reached(stored)
        modules, components = list(stored.get("modules", ())), list(stored.get("components", ()))
        if len(modules) != len(self.modules):
            return {**stored, **windows, **code}
        for place, (module, old, new) in enumerate(
            zip(self.modules, modules, self.identity.get("modules", ()), strict=True)
        ):
            if old[1] == new[1] or not _goes_on(module, old, new):
                continue
            modules[place] = new
            if place < min(len(components), len(self.forms)) and hasattr(self.forms[place], "upgrade_state"):
                components[place] = self.identity["components"][place]
        reached = {"modules": modules, "components": components, **windows}
        return {name: reached.get(name, value) for name, value in stored.items()} | code

    def _code_reached(self, stored: QueryIdentity) -> dict[str, object]:
        """Return the functions and the hashes of code of a state, or the query's own where it goes on from them.

        A function that only one of the two calls is no difference: the expressions differ, or nobody reads its values.
        """
        if "code" not in self.identity:
            return {}
        known, functions = stored.get("functions", {}), dict(self.identity["functions"])
        for name, (version, since) in functions.items():
            old = known.get(name, [version])[0]
            if not continues(version, old, since, upgrades=False):
                functions[name] = [old, since]
        known, code = stored.get("code", {}), dict(self.identity["code"])
        for name, (_, version, is_required) in code.items():
            if is_required and name in known and known[name][1] == version:
                code[name] = [known[name][0], version, is_required]
        return {"functions": functions, "code": code}

    def _windows_reached(self, name: str, stored: QueryIdentity) -> object:
        """Return the windows of a state, or the query's own where their kinds go on from the versions of the state."""
        old, new = stored[name], self.identity.get(name)
        if not isinstance(old, Mapping) or not isinstance(new, Mapping):
            return old
        if name == "window":
            goes_on = bool(self.windows) and continues_windows(old, self.windows[0])
        else:
            own = dict(zip(new, self.windows, strict=False))
            goes_on = set(old) == set(own) and all(continues_windows(old[one], own[one]) for one in own)
        return new if goes_on else old

    def _remedies(self, reached: QueryIdentity) -> Iterator[str]:
        """Yield advice for the writers of modules, of functions, and of windows of one's own."""
        for name, (was, _) in reached.get("functions", {}).items():
            yield from _advice(name, was, self.identity["functions"][name][0], "say")
        for name, (code, version, _) in reached.get("code", {}).items():
            if code != self.identity["code"][name][0]:
                yield (
                    f"{name} requires the same code: give it a new version, and say continues_since = {version!r} if "
                    "results mean the same"
                )
        old_window, new_window = reached.get("window"), self.identity.get("window")
        if isinstance(old_window, Mapping) and isinstance(new_window, Mapping):
            yield from _advice(new_window["kind"], str(old_window.get("version")), new_window["version"], "say")
        modules, wanted = reached.get("modules", ()), self.identity.get("modules", ())
        if len(modules) != len(wanted):
            return
        for old, new in zip(modules, wanted, strict=True):
            (name, was, *_), (own, version, *_) = old, new
            if name == own:
                yield from _advice(name, was, version, "let it define upgrade_state, or say")
        kept, components = reached.get("components"), self.identity.get("components")
        if modules == wanted and kept and components and kept != components:
            yield "let the modules whose components changed have a new version, with upgrade_state"


def _advice(name: str, was: str, version: str, way: str) -> Iterator[str]:
    """Yield the advice for one whose version does not continue from another; none where they are the same."""
    if is_newer(was, version):
        yield f"{name} {version} is older than {was}, which the checkpoint is of: run {was} or a newer one"
    elif was != version:
        yield f"{name} {version} does not continue from {was}: {way} continues_since = {was!r} if results mean the same"


def _goes_on(module: Module, old: Sequence[Any], new: Sequence[Any]) -> bool:
    (name, version, *bound), (own, _, *wanted) = old, new
    continues: bool = name == own and bound == wanted and module.continues_from(version)
    return continues
