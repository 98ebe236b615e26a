"""A new plugin package: the parts of the template for some kinds of modules, renamed."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Iterator, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from muntin.catalog import hooks
from muntin.catalog.plugin_entries import plugin_entries
from muntin_cli.errors import UsageError
from muntin_cli.kinds import DEFAULT_KIND, OfferKind, is_wanted, text_for

_PLACEHOLDER: Final = "myplugin"
_NAME: Final = re.compile(r"[a-z](_?[a-z0-9])*")
_LONGEST: Final = 50
_CACHES: Final = frozenset({"__pycache__", ".mypy_cache", ".pytest_cache", ".hypothesis", ".ruff_cache"})


def create_package(name: str, folder: Path, kinds: Sequence[OfferKind] = (DEFAULT_KIND,)) -> Path:
    """Write a working plugin package named `muntin-<name>` and return its folder.

    Args:
        name: Name of the plugin: the first part of the name of each of its modules.
        folder: Folder in which the package's own folder is made.
        kinds: Kinds of things that the package starts with, an example of each.

    Raises:
        UsageError: The name cannot name a plugin, is taken, or the package's folder cannot be made, or exists and is
            not empty.
    """
    check_name(name)
    target = folder / distribution_of(name)
    if target.is_symlink() or (target.exists() and (not target.is_dir() or any(target.iterdir()))):
        raise UsageError(f"{target} exists already\n  choose another name, another folder (--into), or remove it")
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"{error.strerror}: {error.filename}"
        raise UsageError(f"{target} cannot be made: {reason}\n  choose a folder to write in (--into)") from None

    # Each wanted file of the template is written with the lines of the kinds, and with the plugin's name.
    template = files("muntin_cli") / "template"
    for path, source in _walk(template):
        if is_wanted(path, kinds):
            text = text_for(source.read_text(encoding="utf-8"), kinds)
            if path == "README.md":
                text = text.replace("USAGE", _usage(template, kinds))
            file = target / _renamed(path, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_renamed(text, name), encoding="utf-8")
    return target


def _usage(template: Traversable, kinds: Sequence[OfferKind]) -> str:
    """Return Markdown that shows how queries use the examples of kinds; kinds that are used alike are shown once."""
    texts: dict[str, str] = {}
    for kind in kinds:
        if kind.usage not in texts:
            text = (template / "usage" / f"{kind.usage}.md").read_text(encoding="utf-8")
            texts[kind.usage] = text.replace("EXAMPLE", kind.example).rstrip()
    return "\n\n".join(texts.values())


def distribution_of(name: str) -> str:
    """Return the name of the package that offers a plugin.

    Example:
        >>> distribution_of("air_quality")
        'muntin-air-quality'
    """
    return f"muntin-{name.replace('_', '-')}"


def check_name(name: str) -> None:
    """Check that a new plugin can have a name.

    Raises:
        UsageError: No plugin can have the name, and a similar one is suggested; or it is taken.
    """
    _check_spelling(name)
    _check_free(name)


def _check_spelling(name: str) -> None:
    """Refuse a name that no plugin can have, and suggest a similar one."""
    if len(name) > _LONGEST:
        raise UsageError(f"{name[:20]!r}... has {len(name)} characters\n  expected: at most {_LONGEST}")
    if _can_name_plugin(name):
        return
    similar = re.sub(r"[^a-z0-9]+", "_", name.lower().removeprefix("muntin")).strip("_0123456789")
    suggestion = f"\n  did you mean {similar!r}?" if _can_name_plugin(similar) else ""
    raise UsageError(
        f"{name!r} cannot name a plugin{suggestion}\n"
        "  expected: lower-case letters, digits and single '_' between, a letter first; the package is then named\n"
        "  muntin-<name>"
    )


def _can_name_plugin(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and not keyword.iskeyword(name)


def _check_free(name: str) -> None:
    """Check that a name belongs to no plugin and to no package that can be imported.

    Raises:
        UsageError: The name is taken.
    """
    reason = _why_taken(name)
    if reason:
        raise UsageError(f"{name!r} is taken: {reason}\n  choose another name, for example {name}_modules")


def _why_taken(name: str) -> str:
    """Return why a new plugin cannot have a name; empty if it can."""
    package = f"muntin_{name}"
    if any(entry.name == name for entry in plugin_entries().entries):
        return f"a plugin named {name!r} is installed"
    if find_spec(package) is not None:
        return f"a package {package} is installed"
    if name == hooks.PROJECT:
        return "it is Muntin's own name"
    if name in sys.stdlib_module_names:
        return f"{name} is a module of Python's own"
    spec = find_spec(name)
    if spec is not None and spec.origin is not None:  # a folder without sources has no origin, and takes no name
        return f"{name} is an installed package"
    return ""


def _walk(folder: Traversable, path: str = "") -> Iterator[tuple[str, Traversable]]:
    """Yield the files below a folder, each with its path in the new package."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.name in _CACHES:
            continue
        name = re.sub("^dot-", ".", entry.name)  # a dot would hide the file when our own package is built
        if entry.is_dir():
            yield from _walk(entry, f"{path}{name}/")
        else:
            yield f"{path}{name}", entry


def _renamed(text: str, name: str) -> str:
    """Replace the name of the template's plugin in a text or a path by another one."""
    return text.replace(f"muntin-{_PLACEHOLDER}", distribution_of(name)).replace(_PLACEHOLDER, name)
