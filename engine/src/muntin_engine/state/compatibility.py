"""Compatibility of stored state with a query, or with an older version of it.

Each bucket numbers the schema versions that it has seen, and each part of its state has the number of the one that
wrote it. So a state may be read several versions later, and nothing is rewritten because a module is new, or gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from muntin import Module
from muntin.catalog.named_windows import continues_windows
from muntin.definitions.versions import continues, is_newer, is_same_version
from muntin.modules.function_aggregate import FunctionAggregate
from muntin.schemas import spell
from muntin.windows import WindowSpecification
from muntin_engine.errors import StateMismatchError
from muntin_engine.state.differences import (
    CODE_HASH,
    TYPE_OF_COLUMN,
    QueryIdentity,
    differences_between,
    spell_module,
)


class SchemaVersion(NamedTuple):
    """The modules of a query as they were when a part of its state was written.

    Attributes:
        versions: The version of each module.
        components: What the columnar form of each kept, as plain data; none where they have no part in the state.
        modules: Each module as `bound_modules` tells them apart.
        inputs: The name and the type of each input column.
        places: For each module of the query as it is now, its place among these; None for one that was added since.
            It is not stored.
        columns: For each input column as it is now, its place among these; None for one that was added since.
    """

    versions: Sequence[str] = ()
    components: Sequence[Any] = ()
    modules: Sequence[Any] = ()
    inputs: Sequence[Any] = ()
    places: Sequence[int | None] = ()
    columns: Sequence[int | None] = ()

    @classmethod
    def of(cls, identity: QueryIdentity) -> SchemaVersion:
        """Return the schema version of a query."""
        versions = [version for _, version, *_ in identity.get("modules", ())]
        inputs = [list(column) for column in identity.get("inputs", ())]
        return cls(versions, list(identity.get("components", ())), bound_modules(identity), inputs)

    def before(self, later: SchemaVersion) -> SchemaVersion:
        """Return it with where the present one finds modules and columns, given the version after it with the same.

        What was gone in between is not found, so a module that comes back begins anew.
        """
        places, columns = _found(self.modules, later.modules), _found(self.inputs, later.inputs)
        return self._replace(
            places=[None if place is None else places[place] for place in later.places],
            columns=[None if place is None else columns[place] for place in later.columns],
        )

    def to_data(self) -> list[Any]:
        """Return it as plain data, from which `SchemaVersion(*data)` makes it again."""
        return [list(part) for part in self[:4]]


def bound_modules(identity: QueryIdentity) -> list[Any]:
    """Return what tells the modules of a query apart, whatever their versions and places: plain data."""
    inputs: Sequence[Any] = identity.get("inputs", ())

    def column(place: object) -> object:
        return list(inputs[place]) if isinstance(place, int) and place < len(inputs) else place

    return [
        [name, parameters, list(map(column, places)), *rest]
        for name, _, parameters, places, *rest in identity.get("modules", ())
    ]


def _found(old: Sequence[Any], new: Sequence[Any]) -> list[int | None]:
    """Return where each of some things was, or None; of several that are alike the first is the first."""
    left: list[Any] = list(old)
    places: list[int | None] = []
    for one in new:
        place = left.index(one) if one in left else None
        places.append(place)
        if place is not None:
            left[place] = None
    return places


class Changes(NamedTuple):
    """Changes of a query that goes on with a state.

    Attributes:
        added: The modules that see no row from before, in words.
        removed: The modules that are not computed any more.
        joined: The sources that are waited for from now on.
        left: The sources that are not waited for any more.
    """

    added: Sequence[str]
    removed: Sequence[str]
    joined: Sequence[str]
    left: Sequence[str]


class _Matched(NamedTuple):
    """The modules of a state and those of a query that is to go on with it.

    Attributes:
        old: The schema version of the state.
        places: For each module of the query its place in the state; None if it was added.
        added: The places in the query of those that were added.
        gone: The places in the state of those that the query has not.
    """

    old: SchemaVersion
    places: Sequence[int | None]
    added: Sequence[int]
    gone: Sequence[int]


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
        why_fixed: The reason why modules cannot be added and removed; empty if they can.
        holds_rows: True if the state holds rows, of which modules are computed when windows close.
        begins_empty: For each module whether its part of a state tells that no row is in it.
    """

    identity: QueryIdentity
    modules: Sequence[Module] = ()
    forms: Sequence[Any] = ()
    windows: Sequence[WindowSpecification] = ()
    why_fixed: str = "the state of each key has what all of them made of its rows"
    holds_rows: bool = False
    begins_empty: Sequence[bool] = ()

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
            casts: list[str] = []
            for difference in differences:
                if difference.subject.startswith(TYPE_OF_COLUMN):
                    column = difference.subject.removeprefix(TYPE_OF_COLUMN).partition(" of ")[0]  # of an input
                    casts.append(f"cast it as it was: F.col({column!r}).cast({difference.checkpoint!r})")
            raise StateMismatchError(differences, (*casts, *self._remedies(reached)))

    def schema_versions(self, known: Sequence[SchemaVersion]) -> list[SchemaVersion]:
        """Return the schema versions of a state, with that of the query as the last one."""
        own = SchemaVersion.of(self.identity)
        own = own._replace(places=range(len(own.modules)), columns=range(len(own.inputs)))
        found = [own]
        for older in reversed(known[:-1] if known and known[-1][:4] == own[:4] else known):
            found.insert(0, older.before(found[0]))
        return found

    def changes(self, stored: QueryIdentity) -> Changes:
        """Return what a query that can go on with a state has and the state has not, and the other way round."""
        matched = self._matched(stored)
        added = [] if self.holds_rows else matched.added
        had, has = _sources(stored), _sources(self.identity)
        return Changes(
            [spell_module(self.identity["modules"][place], self.identity) for place in added],
            [spell_module(stored["modules"][place], stored) for place in matched.gone],
            [source for source in has if source not in had],
            [source for source in had if source not in has],
        )

    def _matched(self, stored: QueryIdentity) -> _Matched:
        """Return where the modules of the query are in a state."""
        old, new = SchemaVersion.of(stored), SchemaVersion.of(self.identity)
        places = _found(old.modules, new.modules)
        added = [place for place, was in enumerate(places) if was is None]
        gone = [place for place, _ in enumerate(old.modules) if place not in places]
        return _Matched(old, places, added, gone)

    def _why_not_added(self, place: int, old: SchemaVersion) -> str:
        """Return why a module cannot be added to a state; empty if it can."""
        module = bound_modules(self.identity)[place]
        if self.holds_rows:
            lacking = [str(column[0]) for column in module[2] if column not in old.inputs]
            return f"the rows that the checkpoint holds have no {', '.join(lacking)}" if lacking else ""
        if self.begins_empty[place]:
            return ""
        return f"{module[0]} takes nulls, so its state does not tell whether any row of a window is in it"

    def _why_modules_stay(self, stored: QueryIdentity) -> Iterator[str]:
        """Yield why modules that were added or removed keep a query from going on."""
        old, _, added, gone = self._matched(stored)
        if self.why_fixed:
            if len(added) != len(gone):
                yield f"aggregates cannot be added or removed here: {self.why_fixed}"
        elif added and gone:
            yield "aggregates may be removed in one start and added in the next, not both at once"
        else:
            yield from (f"it cannot be added: {why}" for n in added if (why := self._why_not_added(n, old)))

    def _with_modules(self, stored: QueryIdentity) -> QueryIdentity:
        """Return the identity of a state with the query's modules, if it can go on with these.

        Modules may be added, which begin without rows, or dropped; both at once would be a module that changed.
        """
        old, places, added, gone = self._matched(stored)
        is_changed = added and gone
        if self.why_fixed or is_changed or any(self._why_not_added(place, old) for place in added):
            return stored
        wanted, own = self.identity.get("modules", ()), self.identity.get("components", ())
        modules = [
            [name, version if was is None else old.versions[was], *rest]
            for (name, version, *rest), was in zip(wanted, places, strict=True)
        ]
        components = [mine if was is None else old.components[was] for mine, was in zip(own, places, strict=False)]
        known = {"modules": modules, "components": components, "inputs": self.identity.get("inputs")}
        return {name: known.get(name, value) for name, value in stored.items()}

    def _reached(self, stored: QueryIdentity) -> QueryIdentity:
        """Return the identity of a state, with the query's own versions where its modules continue from others."""
        windows = {name: self._windows_reached(name, stored) for name in ("window", "windows") if name in stored}
        code = self._code_reached(stored)
        stored = _with_sources(self._with_modules(stored), self.identity)
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
        yield from self._why_modules_stay(reached)
        modules, wanted = reached.get("modules", ()), self.identity.get("modules", ())
        if len(modules) != len(wanted):
            return
        for module, old, new in zip(self.modules, modules, wanted, strict=True):
            if old == new:
                continue
            (name, was, *_), (own, version, *_) = old, new
            if name == own and str(was).startswith(CODE_HASH):
                yield _advice_without_version(module, old, reached)
            elif name == own:
                yield from _advice(name, was, version, "let it define upgrade_state, or say")
        kept, components = reached.get("components"), self.identity.get("components")
        if modules == wanted and kept and components and kept != components:
            yield "let the modules whose components changed have a new version, with upgrade_state"


def _advice_without_version(module: Module, stored: Sequence[Any], identity: QueryIdentity) -> str:
    """Return the advice for a module that has the hash of its code for a version, in the checkpoint at least.

    Args:
        module: The module as it is now.
        stored: Its entry in the identity of the checkpoint.
        identity: That identity, which knows the names of columns.
    """
    name, was, _, places, *_ = stored
    maker = _maker_of(module, places)
    if maker is None:
        return (
            f"{name} has no version, so the hash of its code is one: if results mean the same, "
            f"give it a version such as '1.0.0', and say continues_since = {was!r}"
        )
    column = identity["inputs"][places[0]][0] if places[0] < len(identity.get("inputs", ())) else "km"
    function = name.rpartition(".")[2]
    types = ""
    if maker != "from_function":  # which reads them from the annotations
        read = _PYTHON_TYPES.get(identity["inputs"][places[0]][1], "float")
        types = f", input={read}, result={spell(type(module).result_field())}"
    made = f"{maker}({function}, name={name!r}, version='1.0.0', continues_since={was!r}{types})"
    return (
        f"the function {function} has the hash of its code for a version: if results mean the same, "
        f"write module({made}, {column!r}), with {maker} of muntin_adapters"
    )


_PYTHON_TYPES: Final = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "int"),
    **dict.fromkeys(("float", "double"), "float"),
    **{"string": "str", "boolean": "bool", "date": "date", "timestamp": "datetime", "binary": "bytes"},
}
"""Types of Python, by the names that Spark has for them."""


def _maker_of(module: Module, places: Sequence[Any]) -> str | None:
    """Return what makes a module with a version of a plain function of one column; None for another module."""
    if not isinstance(module, FunctionAggregate) or len(places) != 1 or not isinstance(places[0], int):
        return None
    return module.maker


def _advice(name: str, was: str, version: str, way: str) -> Iterator[str]:
    """Yield the advice for one whose version does not continue from another; none where they are the same."""
    if is_newer(was, version):
        yield f"{name} {version} is older than {was}, which the checkpoint is of: run {was} or a newer one"
    elif was != version:
        yield f"{name} {version} does not continue from {was}: {way} continues_since = {was!r} if results mean the same"


def _sources(identity: QueryIdentity) -> list[str]:
    """Return the names of all sources, with that of their input where there are several."""
    if "several" in identity:
        return [f"{name}.{source}" for name, given in identity["several"] for source in _sources(given)]
    return list(identity.get("sources", ()))


def _with_sources(stored: QueryIdentity, wanted: QueryIdentity) -> QueryIdentity:
    """Return the identity of a state with the query's sources, where both have some and the same rules for them."""
    if "several" in stored and [name for name, _ in stored["several"]] == [n for n, _ in wanted.get("several", ())]:
        pairs = zip(stored["several"], wanted["several"], strict=True)
        return {**stored, "several": [[name, _with_sources(old, new)] for (name, old), (_, new) in pairs]}
    old, new = stored.get("sources"), wanted.get("sources")
    if not old or not new or not set(old) & set(new):
        return stored
    before, now = ({source: rule for source, *rule in some.get("rules", ())} for some in (stored, wanted))
    if bool(before) is not bool(now) or any(now[source] != rule for source, rule in before.items() if source in now):
        return stored
    return {**stored, "sources": new, **({"rules": wanted["rules"]} if now else {})}


def _goes_on(module: Module, old: Sequence[Any], new: Sequence[Any]) -> bool:
    (name, version, *bound), (own, _, *wanted) = old, new
    continues: bool = name == own and bound == wanted and module.continues_from(version)
    return continues
