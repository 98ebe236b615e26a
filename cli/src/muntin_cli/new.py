"""A new plugin package: the template, copied and renamed."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from muntin.catalog import hooks
from muntin.catalog.plugin_entries import plugin_entries
from muntin_cli.errors import UsageError

_PLACEHOLDER: Final = "myplugin"
_NAME: Final = re.compile(r"[a-z](_?[a-z0-9])*")
_LONGEST: Final = 50
_WINDOW: Final = "window-kind"
"""The part of the template with a kind of windows; its files take the places of others."""
_SHARED: Final = frozenset({"__init__.py", "py.typed", "test_plugin.py"})
_LEAVE: Final = frozenset({"__pycache__", ".mypy_cache", ".pytest_cache", ".hypothesis", ".ruff_cache"})


def create_package(name: str, folder: Path, *, is_window: bool = False) -> Path:
    """Write a working plugin package named `muntin-<name>` and return its folder.

    Args:
        name: The name of the plugin: the first part of the name of each of its modules.
        folder: Where the package's own folder is made.
        is_window: Whether the example is a kind of windows, instead of modules.

    Raises:
        UsageError: The name cannot name a plugin, is taken, or the package's folder cannot be made, or exists and is
            not empty.
    """
    _check_name(name)
    _check_free(name)
    target = folder / distribution_of(name)
    if target.is_symlink() or (target.exists() and (not target.is_dir() or any(target.iterdir()))):
        raise UsageError(f"{target} exists already\n  choose another name, another folder (--into), or remove it")
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"{error.strerror}: {error.filename}"
        raise UsageError(f"{target} cannot be made: {reason}\n  choose a folder to write in (--into)") from None
    template = files("muntin_cli") / "template"
    sources = {path: source for path, source in _walk(template) if not path.startswith(f"{_WINDOW}/")}
    if is_window:
        sources = {path: source for path, source in sources.items() if not _is_of_modules(path)}
        sources |= dict(_walk(template / _WINDOW))
    for path, source in sources.items():
        file = target / _renamed(path, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_renamed(source.read_text(encoding="utf-8"), name), encoding="utf-8")
    return target


def distribution_of(name: str) -> str:
    """Return the name of the package that offers a plugin.

    Example:
        >>> distribution_of("air_quality")
        'muntin-air-quality'
    """
    return f"muntin-{name.replace('_', '-')}"


def _check_name(name: str) -> None:
    if len(name) > _LONGEST:
        raise UsageError(f"{name[:20]!r}... has {len(name)} characters\n  expected: at most {_LONGEST}")
    if _NAME.fullmatch(name) and not keyword.iskeyword(name):
        return
    fitting = re.sub(r"[^a-z0-9]+", "_", name.lower().removeprefix("muntin")).strip("_0123456789")
    meant = f"\n  did you mean {fitting!r}?" if _NAME.fullmatch(fitting) and not keyword.iskeyword(fitting) else ""
    raise UsageError(
        f"{name!r} cannot name a plugin{meant}\n"
        "  expected: lower-case letters, digits and single '_' between, a letter first; the package is then named\n"
        "  muntin-<name>"
    )


def _check_free(name: str) -> None:
    """Refuse a name that is taken: by a plugin, or by a package that can be imported."""
    package = f"muntin_{name}"
    if any(entry.name == name for entry in plugin_entries().entries):
        taken = f"a plugin named {name!r} is installed"
    elif find_spec(package) is not None:
        taken = f"a package {package} is installed"
    elif name in sys.stdlib_module_names or name == hooks.PROJECT:
        taken = f"{name} is a module of Python's own" if name != hooks.PROJECT else "it is Muntin's own name"
    elif (found := find_spec(name)) is not None and found.origin is not None:
        taken = f"{name} is an installed package"
    else:
        return
    raise UsageError(f"{name!r} is taken: {taken}\n  choose another name, for example {name}_modules")


def _walk(folder: Traversable, path: str = "") -> Iterator[tuple[str, Traversable]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.name in _LEAVE:
            continue
        name = re.sub("^dot-", ".", entry.name)  # a dot would hide the file from those who build our own package
        if entry.is_dir():
            yield from _walk(entry, f"{path}{name}/")
        else:
            yield f"{path}{name}", entry


def _is_of_modules(path: str) -> bool:
    """True for a file of the template that is about the modules in it."""
    is_code = path.startswith(("src/", "tests/"))
    return is_code and path.rpartition("/")[2] not in _SHARED


def _renamed(text: str, name: str) -> str:
    return text.replace(f"muntin-{_PLACEHOLDER}", distribution_of(name)).replace(_PLACEHOLDER, name)
