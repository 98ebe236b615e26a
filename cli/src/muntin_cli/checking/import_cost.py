"""The cost of importing a plugin: the other packages that it loads."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from muntin_cli.checking.package import Package
from muntin_cli.checking.report import Item, Section, finding, ok
from muntin_cli.errors import EnvironmentLacksError
from muntin_cli.output import counted
from muntin_cli.processes import ask_python

_PROBE: Final = Path(__file__).parents[1] / "probes" / "import_cost.py"
_HEAVY: Final = {
    "pyspark": "a module sees payloads, never Spark",
    "pandas": "import it in the function that needs it",
    "muntin_engine": "a module depends on muntin alone, so that every engine can run it",
    "pytest": "tests belong into files of their own",
    "hypothesis": "tests belong into files of their own",
}


def check_import(package: Package) -> Section:
    """Import each plugin in a new process, and look at the modules that this loads; without plugins the package."""
    names = [entry.module for entry in package.entries] or package.imports
    return Section("import", tuple(map(_import_of, names)))


def _import_of(name: str) -> Item:
    """Import a Python module in a new process; return its cost, or a finding if it fails or loads heavy packages."""
    try:
        answer = ask_python(_PROBE, name)
    except EnvironmentLacksError as error:
        return finding(f"{name} cannot be imported in a new process\n  {error}")
    modules = answer["modules"]
    # The probe reports every Python module that the import loaded, by its full name.
    heavy = sorted({module.partition(".")[0] for module in modules} & _HEAVY.keys())
    cost = f"{name}: {counted(len(modules), 'module')} in {answer['milliseconds']} ms"
    if not heavy:
        return ok(f"{cost}, neither Spark nor pandas among them")
    advice = "\n".join(f"  {module}: {_HEAVY[module]}" for module in heavy)
    return finding(f"{cost}; it imports {', '.join(heavy)}, which every query and worker would wait for\n{advice}")
