"""A package of stubs: a file per plugin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from muntin.catalog import Plugin
from muntin_cli.errors import UsageError
from muntin_cli.stubs.annotations import LEFT_OUT, Imports
from muntin_cli.stubs.functions import stub_of_function, stub_of_module, stub_of_trigger, stub_of_window

_MARK: Final = "Written by `muntin stubs`"
_GIVEN: Final = f"""
{LEFT_OUT}: _typing.Any = object()


def _given(**parameters: _typing.Any) -> dict[str, _typing.Any]:
    return {{name: value for name, value in parameters.items() if value is not {LEFT_OUT}}}
"""
_ABOUT: Final = f"{_MARK}; write it anew after installing or upgrading plugins."


@dataclass(frozen=True, slots=True)
class Stubs:
    """The files of a package, by name."""

    files: Mapping[str, str]


def make_stubs(plugins: Sequence[Plugin]) -> Stubs:
    """Return typed functions for all that plugins offer.

    What they return is what `muntin_engine.module` returns, so a query reads the same with and without them.
    """
    named = sorted(plugins, key=lambda plugin: plugin.name)
    listed = "".join(f"from . import {plugin.name} as {plugin.name}\n" for plugin in named)
    first = f'"""Typed functions for installed modules. {_ABOUT}"""\n\n{listed}'
    return Stubs({"__init__.py": first, **{f"{plugin.name}.py": _source(plugin) for plugin in named}})


def write_stubs(stubs: Stubs, folder: Path) -> None:
    """Write a package of stubs; its own older files are replaced, and those of plugins that have gone removed.

    Raises:
        UsageError: The folder holds something that this command has not written.
    """
    _check_ours(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.py"):
        if old.name not in stubs.files:
            old.unlink()
    for name, source in stubs.files.items():
        (folder / name).write_text(source, encoding="utf-8")


def outdated(stubs: Stubs, folder: Path) -> list[str]:
    """Return the names of the files in a folder that differ from what would be written."""
    found = {file.name: file.read_text(encoding="utf-8") for file in folder.glob("*.py")} if folder.is_dir() else {}
    return sorted(name for name in {*found, *stubs.files} if found.get(name) != stubs.files.get(name))


def _check_ours(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file\n  expected: a folder for the package of stubs, --output <folder>")
    strange = [file for file in folder.glob("*.py") if _MARK not in file.read_text(encoding="utf-8")]
    if strange:
        raise UsageError(
            f"{strange[0]} was not written by this command\n"
            "  expected: a folder of its own for the package of stubs, --output <folder>"
        )


def _source(plugin: Plugin) -> str:
    imports = Imports()
    modules = [stub_of_module(cls, imports) for _, cls in sorted(plugin.modules.items())]
    functions = [stub_of_function(function, imports) for _, function in sorted(plugin.functions.items())]
    triggers = [stub_of_trigger(cls, imports) for _, cls in sorted(plugin.triggers.items())]
    windows = [stub_of_window(cls, imports) for _, cls in sorted(plugin.windows.items())]
    stubs = "\n\n\n".join([*modules, *functions, *triggers, *windows])
    return "\n".join([*_head(plugin, imports, stubs), "", stubs, ""])


def _head(plugin: Plugin, imports: Imports, stubs: str) -> Iterator[str]:
    """Yield the lines above the functions; our names start with `_`, so that no name of a plugin can shadow them."""
    yield f'"""What {plugin.distribution} offers. {_ABOUT}"""\n'
    yield "from __future__ import annotations\n"
    yield "import typing as _typing"
    yield "from typing import overload as _overload\n" if "@_overload" in stubs else ""
    if plugin.triggers:
        yield "from muntin.triggers import Trigger as _Trigger"
        yield "from muntin.triggers import named as _named"
    if plugin.windows:
        yield "from muntin.windows import WindowSpecification as _WindowSpecification"
        yield "from muntin import window as _window"
    if plugin.modules:
        yield "from muntin_engine import ModuleCall as _ModuleCall"
        yield from ["from muntin_engine import StreamColumns as _StreamColumns"] * ("_StreamColumns" in stubs)
        yield "from muntin_engine import module as _module"
    yield ""
    yield "if _typing.TYPE_CHECKING:"
    yield from (f"    {line}" for line in imports.lines())
    yield "    from pyspark.sql import Column as _Column\n"
    yield "    _ColumnLike: _typing.TypeAlias = str | _Column\n"
    if LEFT_OUT in stubs:
        yield _GIVEN
