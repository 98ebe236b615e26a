"""All checks of a package, in one report."""

from __future__ import annotations

from muntin.catalog import Catalog
from muntin_cli.checking.discovery import check_discovery
from muntin_cli.checking.import_cost import check_import
from muntin_cli.checking.laws_section import laws_section
from muntin_cli.checking.package import Package
from muntin_cli.checking.report import Report
from muntin_cli.checking.subjects import Given, subjects_in
from muntin_cli.checking.travelling import check_pickling, check_worker
from muntin_cli.checking.types import check_types


def check(package: Package, catalog: Catalog, given: Given) -> Report:
    """Check a package.

    Args:
        package: The package.
        catalog: What is installed.
        given: Parameters to make modules with, by the module's name.
    """
    discovery, plugins = check_discovery(package, catalog)
    subjects = subjects_in(plugins, given)
    pickling, pickled = check_pickling(subjects)
    sections = [discovery, check_import(package), check_types(package)]
    if plugins:
        sections += [laws_section(subjects, package.tests), pickling, check_worker(pickled)]
    return Report(f"{package.name} {package.version}", tuple(sections))
