"""Advice for a query that cannot go on with a state: what its writer can say so that it can."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from muntin import Module
from muntin.definitions.versions import is_newer
from muntin.modules.function_aggregate import FunctionAggregate
from muntin.schemas import spell
from muntin_engine.errors import Difference
from muntin_engine.state.differences import CODE_HASH, TYPE_OF_COLUMN, ModuleIdentity, QueryIdentity

_PYTHON_TYPES: Final = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "int"),
    **dict.fromkeys(("float", "double"), "float"),
    **{"string": "str", "boolean": "bool", "date": "date", "timestamp": "datetime", "binary": "bytes"},
}
"""Types of Python, by the names that Spark has for them."""


def advice_on_types(differences: Sequence[Difference]) -> Iterator[str]:
    """Yield a cast for each column whose type differs."""
    for difference in differences:
        if difference.subject.startswith(TYPE_OF_COLUMN):
            # Where there are several inputs, " of " and the name of the input follow the name of the column.
            column = difference.subject.removeprefix(TYPE_OF_COLUMN).partition(" of ")[0]
            yield f"cast it as it was: F.col({column!r}).cast({difference.checkpoint!r})"


def advice_on_functions(stored: QueryIdentity, present: QueryIdentity) -> Iterator[str]:
    """Yield advice for the writers of functions, and of modules and functions that require the same code.

    Args:
        stored: The identity of the state, with the parts of the query from which it can go on: so it has the functions
            of the query alone, some with other versions or code.
        present: The identity of the query.
    """
    for name, (version, _) in stored.get("functions", {}).items():
        present_version = present["functions"][name][0]
        yield from _advice_on_version(name, version, present_version, remedy="say")
    for name, (code, version, _) in stored.get("code", {}).items():
        if code != present["code"][name][0]:
            yield (
                f"{name} requires the same code: give it a new version, and say continues_since = {version!r} if "
                "results mean the same"
            )


def advice_on_windows(stored: QueryIdentity, present: QueryIdentity) -> Iterator[str]:
    """Yield advice for the writer of a kind of windows."""
    stored_window = stored.get("window")
    window = present.get("window")
    if isinstance(stored_window, Mapping) and isinstance(window, Mapping):
        stored_version = str(stored_window.get("version"))
        yield from _advice_on_version(window["kind"], stored_version, window["version"], remedy="say")


def advice_on_modules(modules: Sequence[Module], stored: QueryIdentity, present: QueryIdentity) -> Iterator[str]:
    """Yield advice for the writers of modules.

    Args:
        modules: The modules of the query.
        stored: The identity of the state, with the parts of the query from which it can go on.
        present: The identity of the query.
    """
    stored_modules = stored.get("modules", ())
    present_modules = present.get("modules", ())
    if len(stored_modules) != len(present_modules):
        return
    for module, stored_data, present_data in zip(modules, stored_modules, present_modules, strict=True):
        stored_module = ModuleIdentity.of(stored_data)
        present_module = ModuleIdentity.of(present_data)
        if stored_data == present_data or stored_module.name != present_module.name:
            continue
        if str(stored_module.version).startswith(CODE_HASH):
            yield _advice_without_version(module, stored_module, stored)
        else:
            yield from _advice_on_version(
                stored_module.name,
                stored_module.version,
                present_module.version,
                remedy="let it define upgrade_state, or say",
            )

    # Components are the matter only where the modules are the same.
    stored_components = stored.get("components")
    components = present.get("components")
    if stored_modules != present_modules or not stored_components or not components:
        return
    if stored_components != components:
        yield "let the modules whose components changed have a new version, with upgrade_state"


def _advice_without_version(module: Module, stored: ModuleIdentity, identity: QueryIdentity) -> str:
    """Return the advice for a module whose version in the checkpoint is the hash of its code.

    Args:
        module: The module as it is now.
        stored: The module in the identity of the checkpoint.
        identity: The identity of the checkpoint, which knows the names of columns.
    """
    maker = _maker_of(module, stored.places)
    if maker is None:
        return (
            f"{stored.name} has no version, so the hash of its code counts as one: if results mean the same, "
            f"give it a version such as '1.0.0', and say continues_since = {stored.version!r}"
        )
    # The module wraps a plain function of one column: the advice is a call that gives it a version.
    place = stored.places[0]
    column, input_type_name = identity["inputs"][place]
    function = stored.name.rpartition(".")[2]
    types = ""
    if maker != "from_function":  # that one reads the types from annotations
        input_type = _PYTHON_TYPES.get(input_type_name, "float")
        types = f", input={input_type}, result={spell(type(module).result_field())}"
    call = f"{maker}({function}, name={stored.name!r}, version='1.0.0', continues_since={stored.version!r}{types})"
    return (
        f"the function {function} has the hash of its code for a version: if results mean the same, "
        f"write module({call}, {column!r}), with {maker} of muntin_adapters"
    )


def _maker_of(module: Module, places: Sequence[Any]) -> str | None:
    """Return the name of the function that wraps a plain function of one column as a module; None for other modules."""
    if not isinstance(module, FunctionAggregate) or len(places) != 1 or not isinstance(places[0], int):
        return None
    return module.maker


def _advice_on_version(name: str, stored: str, present: str, remedy: str) -> Iterator[str]:
    """Yield the advice on a version that does not continue from the stored one; nothing if both are the same.

    Args:
        name: The name of the function, module or kind of windows that has the version.
        stored: The version in the checkpoint.
        present: The version of the query.
        remedy: The words that tell its writer what to do, and which `continues_since = ...` follows.
    """
    if is_newer(stored, present):
        yield f"{name} {present} is older than {stored}, which the checkpoint is of: run {stored} or a newer one"
    elif stored != present:
        yield (
            f"{name} {present} does not continue from {stored}: "
            f"{remedy} continues_since = {stored!r} if results mean the same"
        )
