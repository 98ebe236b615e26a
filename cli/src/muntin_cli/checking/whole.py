"""All checks of a package, in one report."""

from __future__ import annotations

from muntin.catalog import Catalog
from muntin_cli.checking.discovery import check_discovery
from muntin_cli.checking.import_cost import check_import
from muntin_cli.checking.package import Package
from muntin_cli.checking.release import badge_for, check_release
from muntin_cli.checking.report import Report, Section, note
from muntin_cli.checking.subjects import ParametersByModule, Subjects, subjects_in
from muntin_cli.checking.travelling import check_pickling, check_worker
from muntin_cli.checking.types import check_types
from muntin_cli.laws import LAWS_NEED, has_laws
from muntin_cli.waiting_line import WaitingLine


def check(
    package: Package, catalog: Catalog, parameters: ParametersByModule, progress: WaitingLine | None = None
) -> Report:
    """Check a package.

    Args:
        package: Package.
        catalog: Catalog of the installed plugins.
        parameters: Parameters to make modules with, by the module's name.
        progress: Line that says what is checked; None if nobody waits.
    """
    progress = progress or WaitingLine("")
    progress.say("loading its plugins")
    discovery, plugins = check_discovery(package, catalog)
    subjects = subjects_in(plugins, parameters)
    pickling, pickled = check_pickling(subjects)
    progress.say("importing it in a new process")
    sections = [discovery, check_import(package)]
    progress.say("checking its types with mypy, which takes longest the first time")
    sections.append(check_types(package))
    if plugins:
        sections.append(_check_laws(subjects, package, progress))
        progress.say("opening its modules as a worker does")
        sections += [pickling, check_worker(pickled)]
    badge = ""
    if package.folder is not None:
        sections.append(check_release(package, package.folder, plugins))
        badge = badge_for(package, package.folder)
    return Report(f"{package.name} {package.version}", tuple(sections), badge)


def _check_laws(subjects: Subjects, package: Package, progress: WaitingLine) -> Section:
    """Try the laws of subjects; if the libraries for that are not installed, say so in a note."""
    if not has_laws():
        return Section("laws", (note(f"laws are not tried; they are {LAWS_NEED}"),))
    from muntin_cli.checking.laws import check_laws

    return check_laws(subjects, package.tests, progress)
