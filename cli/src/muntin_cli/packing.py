"""A file of modules, packed as a wheel that others use from a catalog folder."""

from __future__ import annotations

import ast
import os
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from importlib.metadata import files, packages_distributions, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from packaging.version import InvalidVersion, Version

from muntin import Function, Module
from muntin.catalog import Catalog
from muntin.catalog_folder import trusted_keys, unpack, versions_in
from muntin.plugin_entries import plugin_entries
from muntin.signatures import SignatureError, sign
from muntin.triggers import Trigger
from muntin.wheels import Wheel, read_wheel, spelled_hash
from muntin.windows import WindowSpecification
from muntin_cli.checking.discovery import check_discovery
from muntin_cli.checking.laws_section import laws_section
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
    before = set(sys.modules)
    defined = defined_in(source)
    imported = set(sys.modules) - before
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
        f"{info}/METADATA": _metadata(source, text, imported, distribution_of(plugin), release).encode(),
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
        CatalogFileError: It cannot be used from a catalog, or not here, as a package of its name is installed.
        UsageError: It offers no plugin.
    """
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, name).write_bytes(data)
        wheel = read_wheel(Path(folder, name))
    unpack(wheel)
    package = find_package(wheel.name, plugin_entries().entries)
    discovery, plugins = check_discovery(package, Catalog(package.entries))
    subjects = subjects_in(plugins, given)
    sections = [discovery, laws_section(subjects), check_pickling(subjects)[0]] if plugins else [discovery]
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
            wheel = read_wheel(here / name, trusted_keys(folder))
            twin = versions_in(folder)[0].get(wheel.name, {}).get(Version(wheel.version))
            if twin is not None and twin.name != name:
                raise UsageError(
                    f"{twin} has the version of {name}, which would not be used\n  give it another version"
                )
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
    for name, one in {id(one): (name, one) for name, one in defined.items()}.values():  # one may have two names
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


def _metadata(source: Path, text: bytes, imported: set[str], name: str, release: str) -> str:
    tree = ast.parse(text)
    required = _owners(_imports(source, tree, imported))
    first = " ".join((ast.get_docstring(tree) or f"Modules of {source.name}").partition("\n")[0].split())
    return "\n".join(
        [
            *("Metadata-Version: 2.1", f"Name: {name}", f"Version: {release}", f"Summary: {first}"),
            *("Requires-Python: >=3.11", f"Requires-Dist: muntin-sdk{_range_of_sdk()}"),
            *(f"Requires-Dist: {one}" for one in sorted(required)),
            "",
        ]
    )


def _range_of_sdk() -> str:
    """Return the versions of the SDK that a wheel runs with: before 1.0 a minor version may break."""
    own = Version(version("muntin-sdk"))
    end = f"0.{own.minor + 1}" if own.major == 0 else own.major + 1
    return f">={own.major}.{own.minor},<{end}"


def _imports(source: Path, tree: ast.Module, imported: set[str]) -> set[str]:
    """Return the names of modules that a file imports, but those of Python and Muntin.

    Raises:
        UsageError: It imports a file beside it, or did while it ran.
    """
    nodes = list(ast.walk(tree))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {
        f"{node.module}.{alias.name}" for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    tops = {name.partition(".")[0] for name in names | imported}
    if beside := sorted(top for top in tops if _lies_in(source.resolve().parent, top)):
        raise UsageError(
            f"{source} imports {', '.join(beside)}, which lies beside it and would be missing elsewhere\n"
            "  move what it needs into the file, or make both a package: muntin new"
        )
    return {name for name in names if name.partition(".")[0] not in {*sys.stdlib_module_names, "muntin"}}


def _lies_in(folder: Path, top: str) -> bool:
    try:
        spec = find_spec(top)
    except ValueError:  # of a module that was made without one
        spec = None
    places = [] if spec is None else spec.submodule_search_locations or [spec.origin or ""]
    return any(os.path.isabs(place) and Path(place).resolve().parent == folder for place in places)


def _owners(names: set[str]) -> set[str]:
    """Return the installed packages that modules are imported from; several may share a first name, as `google`."""
    owners = dict(packages_distributions())  # without those that are installed in place
    owners |= {entry.module.partition(".")[0]: [entry.dist.name] for entry in plugin_entries().entries if entry.dist}
    required: set[str] = set()
    for name in names:
        some = owners.get(name.partition(".")[0], [])
        required |= {some[0]} if len(set(some)) == 1 else {owner for owner in some if _holds(owner, name)}
    return required


def _holds(owner: str, name: str) -> bool:
    """True if a package has files of a module, or of the one that the last part of a name is imported from."""
    path = name.replace(".", "/")
    parents = (path, path.rpartition("/")[0]) if path.count("/") > 1 else (path,)
    starts = tuple(f"{parent}{end}" for parent in parents for end in ("/", ".py", ".so", ".pyd"))
    return any(file.as_posix().startswith(starts) for file in files(owner) or ())


def _read(source: Path) -> bytes:
    try:
        return source.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{source} cannot be read: {error.strerror}\n  expected: a file of Python, or a wheel"
        ) from error
