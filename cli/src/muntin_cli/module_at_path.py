"""The module at a path: in a file of Python, or in the folder of a package or a project, that need not be installed.

The code is imported beside an installed package of the same name, which stays what it is: both versions can then run
in one process. Imports inside functions, which run later, find the installed package.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from muntin import Module
from muntin_cli.errors import UsageError
from muntin_cli.output import let_through

_BESIDE: Final = "muntin_module_at_path"
"""The first part of the names under which the code of paths is kept, so that no import finds it by its own name."""

_SHARED: Final = frozenset({"muntin", "muntin_engine", "muntin_cli"})
"""Packages that all versions share, wherever a path lies."""

_HOOK: Final = "muntin_modules"
"""The hook by which a plugin offers modules."""


def module_at(path: Path, name: str) -> type[Module]:
    """Import a module from a path.

    A folder is a project with an entry point of Muntin's in its `pyproject.toml`, or a package, or it has one package
    in it or in its `src`. The module is the one of the name, or else the only one that is there.

    Args:
        path: A file of Python, with or without its ending, or a folder.
        name: The name of the module that it is to replace.

    Raises:
        UsageError: There is no code, or it cannot be imported, or it has no such module, or several.
    """
    code = _code_at(path)
    candidates = _imported_modules(path, code)
    namesakes = [module for module in candidates if module.name == name]
    if len(namesakes) == 1:
        return namesakes[0]
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        raise UsageError(f"{path} has no module\n  expected: a class of a module, or a plugin whose {_HOOK} returns it")
    listed = sorted(_described(module) for module in namesakes or candidates)
    offers = "\n".join(f"    {description}" for description in listed)
    reason = f"{len(namesakes)} modules are called {name}" if namesakes else f"no module is called {name}"
    raise UsageError(
        f"{path}: {reason}; it has\n{offers}\n"
        "  expected: one module of that name, or one alone: name the file that has it"
    )


@dataclass(frozen=True)
class _CodeAtPath:
    """Code that can be imported.

    Attributes:
        root: The folder that imports begin in.
        names: The names of the Python modules to import.
        plugins: The values of the entry points that declare plugins, such as `weather.plugin:Plugin`, one for each
            name; empty for code without entry points.
    """

    root: Path
    names: Sequence[str]
    plugins: Sequence[str] = ()

    @property
    def top_names(self) -> set[str]:
        """The names of the packages and files that the root has, and that are imported from there alone."""
        names = {name.partition(".")[0] for name in self.names}
        # If the code is files, and no package, a file may import the files beside it.
        if all((self.root / f"{name}.py").exists() for name in names):
            names |= {file.stem for file in self.root.glob("*.py")}
        return names - set(sys.stdlib_module_names) - _SHARED


def _code_at(path: Path) -> _CodeAtPath:
    """Find the code that a path names.

    Raises:
        UsageError: There is none.
    """
    path = path.resolve()
    file_with_ending = path.with_name(f"{path.name}.py")
    if not path.exists() and file_with_ending.is_file():
        path = file_with_ending
    if path.is_file():
        if path.suffix != ".py":
            raise UsageError(f"{path} is no file of Python\n  expected: a file such as new_spread.py, or a folder")
        root, name = _place_of(path)
        return _CodeAtPath(root, [name])
    if not path.is_dir():
        raise UsageError(f"there is no {path}\n  expected: a file of Python, or the folder of a package")
    entries = _entry_points(path / "pyproject.toml")
    if entries:
        root = path / "src" if (path / "src").is_dir() else path
        return _CodeAtPath(root, [entry.partition(":")[0] for entry in entries], entries)
    return _code_of_package(_package_in(path))


def _place_of(file: Path) -> tuple[Path, str]:
    """Return the folder that imports of a file begin in, and the name by which the file is imported from there."""
    parts = [] if file.stem == "__init__" else [file.stem]
    folder = file.parent
    while (folder / "__init__.py").exists():
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)


def _entry_points(file: Path) -> list[str]:
    """Return the values of the entry points of Muntin's that a `pyproject.toml` declares; none without such a file.

    Raises:
        UsageError: The file cannot be read.
    """
    if not file.is_file():
        return []
    try:
        project = tomllib.loads(file.read_text(encoding="utf-8")).get("project", {})
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from error
    return list(project.get("entry-points", {}).get("muntin", {}).values())


def _package_in(folder: Path) -> Path:
    """Return the folder of the package that a folder is, or the one that it has in it or in its `src`.

    Raises:
        UsageError: It has none, or several.
    """
    if (folder / "__init__.py").exists():
        return folder
    # The tests of a project may be a package beside its own one.
    packages = [file.parent for file in sorted(folder.glob("*/__init__.py")) if file.parent.name != "tests"]
    packages = packages or [file.parent for file in sorted(folder.glob("src/*/__init__.py"))]
    if len(packages) == 1:
        return packages[0]
    listed = ", ".join(package.name for package in packages)
    reason = f"has several packages: {listed}" if packages else "is no package, and has none"
    raise UsageError(f"{folder} {reason}\n  expected: a folder with one package, or the file of the module")


def _code_of_package(package: Path) -> _CodeAtPath:
    """Return the code of a package: all of its Python modules but those that only run, and those of tests."""
    root, name = _place_of(package / "__init__.py")
    names = [name]
    for inner_name in _names_in(package, name):
        parts = inner_name.split(".")
        if "__main__" not in parts and "tests" not in parts:
            names.append(inner_name)
    return _CodeAtPath(root, names)


def _names_in(folder: Path, package: str) -> Iterator[str]:
    """Yield the names of the Python modules in the folder of a package, and of those in its packages; import none."""
    # `pkgutil.walk_packages` imports a package to look into it, and so finds an installed one of its name, or none.
    for module in pkgutil.iter_modules([str(folder)]):
        name = f"{package}.{module.name}"
        yield name
        if module.ispkg:
            yield from _names_in(folder / module.name, name)


def _imported_modules(path: Path, code: _CodeAtPath) -> list[type[Module]]:
    """Import code beside what is installed, and return the modules that it offers, or else those that it defines.

    Raises:
        UsageError: It cannot be imported.
    """
    # Packages of the same names may be installed: the code at the path takes their place for the import, and no longer.
    names = code.top_names
    installed = _taken_out(names)
    sys.path.insert(0, str(code.root))
    importlib.invalidate_caches()
    try:
        with let_through():
            imported = [importlib.import_module(name) for name in code.names]
            offers = _offers(imported, code.plugins)
    except (Exception, SystemExit) as error:  # it is a program of the user's
        raise UsageError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(code.root))
        new_code = _taken_out(names)
        sys.modules.update(installed)
        _keep_beside(new_code)
    return offers or _defined_modules(imported, new_code.values())


def _taken_out(top_names: Iterable[str]) -> dict[str, ModuleType]:
    """Remove the Python modules of some packages from `sys.modules`, and return them by name."""
    names = [name for name in sys.modules if name.partition(".")[0] in top_names]
    return {name: sys.modules.pop(name) for name in names}


def _keep_beside(new_code: Mapping[str, ModuleType]) -> None:
    """Put Python modules back into `sys.modules` under other names, which their classes are told as their homes.

    Without a home, the annotations and the source of a class could not be read.
    """
    for name, python_module in new_code.items():
        kept_name = f"{_BESIDE}.{name}"
        sys.modules[kept_name] = python_module
        python_module.__name__ = kept_name  # a later import may give its old name to another module
        for value in vars(python_module).values():
            if isinstance(value, type) and value.__module__ == name:
                value.__module__ = kept_name


def _offers(imported: Sequence[ModuleType], plugins: Sequence[str]) -> list[type[Module]]:
    """Return the modules that plugins offer.

    Args:
        imported: The Python modules that were imported.
        plugins: The entry point of each of them; if there are none, each that has the hook is a plugin.
    """
    objects: list[Any] = list(imported)
    if plugins:
        objects = []
        for python_module, plugin in zip(imported, plugins, strict=True):
            attribute = plugin.partition(":")[2]
            objects.append(getattr(python_module, attribute) if attribute else python_module)
    modules: list[type[Module]] = []
    for plugin_object in objects:
        hook = getattr(plugin_object, _HOOK, None)
        if hook is not None:
            modules += hook()
    return list(dict.fromkeys(modules))


def _defined_modules(imported: Sequence[ModuleType], new_code: Iterable[ModuleType]) -> list[type[Module]]:
    """Return the module classes that code defines; if it defines none, those that it imports from elsewhere.

    Args:
        imported: The Python modules whose names are searched.
        new_code: All Python modules of the code, which may define the classes.
    """
    homes = {python_module.__name__ for python_module in new_code}
    defined: dict[type[Module], None] = {}
    imported_from_elsewhere: dict[type[Module], None] = {}
    for python_module in imported:
        for value in vars(python_module).values():
            if not _is_module(value):
                continue
            if value.__module__ in homes:
                defined[value] = None
            else:
                imported_from_elsewhere[value] = None
    return list(defined or imported_from_elsewhere)


def _is_module(value: object) -> bool:
    """Return True for a module class that queries can run: it is not abstract, and has a name."""
    is_class = isinstance(value, type) and issubclass(value, Module) and not inspect.isabstract(value)
    return is_class and isinstance(getattr(value, "name", None), str)


def _described(module: type[Module]) -> str:
    """Return the name, the version and the place of a module, for an error."""
    home = module.__module__.removeprefix(f"{_BESIDE}.")
    return f"{module.name} {getattr(module, 'version', '')}".strip() + f" ({home}.{module.__qualname__})"
