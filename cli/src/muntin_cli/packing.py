"""A file of modules, packed as a wheel that others use from a catalog folder."""

from __future__ import annotations

import ast
import os
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any, Final

from packaging.version import InvalidVersion, Version

from muntin import Function, Module
from muntin.catalog import installed, use_catalog
from muntin.catalog_folder import Wheel, read_wheel, spelled_hash, trusted_keys
from muntin.plugin_entries import plugin_entries
from muntin.signatures import SignatureError, sign
from muntin.triggers import Trigger
from muntin.windows import WindowSpecification
from muntin_cli.checking.discovery import check_discovery
from muntin_cli.checking.laws import check_laws
from muntin_cli.checking.package import find_package
from muntin_cli.checking.report import Report
from muntin_cli.checking.subjects import Given, subjects_in
from muntin_cli.checking.travelling import check_pickling
from muntin_cli.errors import UsageError
from muntin_cli.new import distribution_of
from muntin_cli.running import defined_in

_RUN: Final = "<run_path>"
"""The name of the module that `runpy` runs a file as."""

_LONG_AGO: Final = (1980, 1, 1, 0, 0, 0)
_KINDS: Final = {
    "muntin_modules": Module,
    "muntin_triggers": Trigger,
    "muntin_windows": WindowSpecification,
    "muntin_functions": Function,
}


def wheel_from(source: Path) -> tuple[str, bytes]:
    """Return the name of a wheel, and its bytes, for a file of modules; a wheel is returned as it is.

    Args:
        source: A Python file. What it defines is packed: modules, functions, triggers and kinds of windows that have a
            name. Packages that it imports are what the wheel requires.

    Raises:
        UsageError: The file cannot be run, defines nothing, or what it defines is of several plugins, has no version or
            imports what lies beside it.
    """
    if source.suffix == ".whl":
        return source.name, _read(source)
    defined = defined_in(source)
    offered = {hook: sorted(_offered(defined, kind), key=lambda one: one[1].name) for hook, kind in _KINDS.items()}
    everything = [one for found in offered.values() for _, one in found]
    plugin = _plugin_of(source, [one.name for one in everything])
    release = _version_of(source, defined, everything)
    text, package = _read(source), f"muntin_{plugin}"
    hooks = "".join(
        f"\n\n@hookimpl\ndef {hook}():\n    return [{', '.join(f'modules.{name}' for name, _ in found)}]\n"
        for hook, found in offered.items()
        if found
    )
    said = f'"""The modules of {source.name}, packed by muntin pack."""\n\nfrom muntin import hookimpl\n'
    info = f"{package}-{release}.dist-info"
    files = {
        f"{package}/__init__.py": f"{said}from {package} import modules\n{hooks}".encode(),
        f"{package}/modules.py": text,
        f"{info}/METADATA": _metadata(source, text.decode(), distribution_of(plugin), release).encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: muntin\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[muntin]\n{plugin} = {package}\n".encode(),
    }
    record = [f"{name},{spelled_hash(data)},{len(data)}\n" for name, data in files.items()]
    files[f"{info}/RECORD"] = "".join([*record, f"{info}/RECORD,,\n"]).encode()
    with tempfile.TemporaryFile() as wheel:
        with zipfile.ZipFile(wheel, "w") as archive:  # stored, so that the same files are the same bytes everywhere
            for name, data in files.items():
                archive.writestr(zipfile.ZipInfo(name, _LONG_AGO), data)
        wheel.seek(0)
        return f"{package}-{release}-py3-none-any.whl", wheel.read()


def check_wheel(name: str, data: bytes, given: Given) -> tuple[Wheel, Report]:
    """Check a wheel as a query would use it from a catalog: that it loads, keeps its laws, and can be pickled.

    Raises:
        CatalogFileError: It cannot be used from a catalog.
        UsageError: A package of its name is installed here, or it offers no plugin.
    """
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, name).write_bytes(data)
        wheel = read_wheel(Path(folder, name))
        use_catalog(folder)
    for error in installed().unreadable:
        raise error
    package = find_package(wheel.name, plugin_entries().entries)
    if package.version != wheel.version:
        raise UsageError(f"{wheel.name} {package.version} is installed here\n  pack where it is not installed")
    discovery, plugins = check_discovery(package, installed())
    subjects = subjects_in(plugins, given)
    sections = [discovery, check_laws(subjects), check_pickling(subjects)[0]] if plugins else [discovery]
    return wheel, Report(f"{wheel.name} {wheel.version}", tuple(sections))


def put(folder: Path, name: str, data: bytes, key: Path | None) -> Path:
    """Put a wheel into a catalog, with its signature if there is a key; readers see all of it or nothing.

    Raises:
        UsageError: Another wheel of this name is there, it cannot be signed or written, or the catalog wants another
            signature.
    """
    try:
        signature = None if key is None else sign(data, key)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".packing-", dir=folder) as unfinished:
            here = Path(unfinished)
            (here / name).write_bytes(data)
            if signature is not None:
                (here / f"{name}.sig").write_bytes(signature)
            read_wheel(here / name, trusted_keys(folder))
            if signature is not None:
                _put_once(here / f"{name}.sig", folder)
            return _put_once(here / name, folder)
    except (OSError, SignatureError) as error:
        raise UsageError(f"{name} cannot be put into {folder}: {error}") from error


def _put_once(file: Path, folder: Path) -> Path:
    target, data = folder / file.name, file.read_bytes()
    try:
        os.link(file, target)  # which fails where there is one, however many pack at the same time
    except OSError as error:
        if not isinstance(error, FileExistsError) and not target.exists():  # a file system without hard links
            file.replace(target)
        if target.read_bytes() != data:
            raise UsageError(
                f"{target} is there with other contents\n  give what changed a new version: a query that goes on from "
                "a checkpoint needs the old one"
            ) from None
    return target


def _offered(defined: Mapping[str, Any], kind: type) -> Iterator[tuple[str, Any]]:
    for name, one in defined.items():
        home = getattr(one.implementation if isinstance(one, Function) else one, "__module__", None)
        is_kind = isinstance(one, kind) if kind is Function else isinstance(one, type) and issubclass(one, kind)
        if is_kind and home == _RUN and isinstance(getattr(one, "name", None), str):
            yield name, one


def _plugin_of(source: Path, names: list[str]) -> str:
    plugins = sorted({name.partition(".")[0] for name in names})
    if len(plugins) == 1:
        return plugins[0]
    has = f"modules of several plugins: {', '.join(sorted(names))}" if plugins else "no modules with a name"
    raise UsageError(
        f"{source} defines {has}\n"
        "  expected: classes such as class Spread(Aggregate[float, float]): name, version = 'tides.spread', '1.0.0',\n"
        "  with one first part of all names, which is the plugin's name"
    )


def _version_of(source: Path, defined: Mapping[str, Any], offered: list[Any]) -> str:
    """Return `__version__`, or else the highest version of what is offered."""
    told = defined.get("__version__")
    versions: list[Any] = [told] if told is not None else [getattr(one, "version", None) for one in offered]
    try:
        return str(max(Version(version) for version in versions))
    except (InvalidVersion, TypeError):
        wrong = ", ".join(f"{one.name} {getattr(one, 'version', None)!r}" for one in offered)
        raise UsageError(
            f"{source} has no version to be packed under: {wrong}\n"
            "  expected: a version of each class, such as version = '1.0.0', or __version__ = '1.0.0' in the file"
        ) from None


def _metadata(source: Path, text: str, name: str, release: str) -> str:
    tops = _imports(source, text)
    imported = {one for top, owners in packages_distributions().items() if top in tops for one in owners[:1]}
    first = (ast.get_docstring(ast.parse(text)) or f"Modules of {source.name}").partition("\n")[0]
    return "\n".join(
        [
            *("Metadata-Version: 2.1", f"Name: {name}", f"Version: {release}", f"Summary: {first}"),
            *("Requires-Python: >=3.11", f"Requires-Dist: muntin-sdk{_range_of_sdk()}"),
            *(f"Requires-Dist: {one}" for one in sorted(imported)),
            "",
        ]
    )


def _range_of_sdk() -> str:
    """Return the versions of the SDK that a wheel runs with: before 1.0 a minor version may break."""
    own = Version(version("muntin-sdk"))
    end = f"0.{own.minor + 1}" if own.major == 0 else own.major + 1
    return f">={own.major}.{own.minor},<{end}"


def _imports(source: Path, text: str) -> set[str]:
    """Return the top-level names that a file imports, of packages that are installed."""
    nodes = list(ast.walk(ast.parse(text)))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)]
    tops = {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"muntin"}
    beside = sorted(top for top in tops if (source.parent / f"{top}.py").exists() or (source.parent / top).is_dir())
    if beside:
        raise UsageError(
            f"{source} imports {', '.join(beside)}, which lies beside it and would be missing elsewhere\n"
            "  move what it needs into the file, or make both a package: muntin new"
        )
    return tops


def _read(source: Path) -> bytes:
    try:
        return source.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{source} cannot be read: {error.strerror}\n  expected: a file of Python, or a wheel"
        ) from error
