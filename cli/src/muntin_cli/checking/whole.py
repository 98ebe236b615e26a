"""All checks of a package, in one report."""

from __future__ import annotations

from muntin.catalog import Catalog
from muntin_cli.checking.discovery import check_discovery
from muntin_cli.checking.import_cost import check_import
from muntin_cli.checking.package import Package
from muntin_cli.checking.report import Report, Section, note
from muntin_cli.checking.subjects import ParametersByModule, Subjects, subjects_in
from muntin_cli.checking.travelling import check_pickling, check_worker
from muntin_cli.checking.types import check_types
from muntin_cli.laws import LAWS_NEED, has_laws


def check(package: Package, catalog: Catalog, parameters: ParametersByModule) -> Report:
    """Check a package.

    Args:
        package: Package.
        catalog: Catalog of the installed plugins.
        parameters: Parameters to make modules with, by the module's name.
    """
    discovery, plugins = check_discovery(package, catalog)
    subjects = subjects_in(plugins, parameters)
    pickling, pickled = check_pickling(subjects)
    sections = [discovery, check_import(package), check_types(package)]
    if plugins:
        sections += [_check_laws(subjects, package), pickling, check_worker(pickled)]
    return Report(f"{package.name} {package.version}", tuple(sections))


def _check_laws(subjects: Subjects, package: Package) -> Section:
    if not has_laws():
        return Section("laws", (note(f"laws are not tried; they are {LAWS_NEED}"),))
    from muntin_cli.checking.laws import check_laws

    return check_laws(subjects, package.tests)
