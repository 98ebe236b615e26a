"""The part of a report about laws, also where they cannot be tried."""

from __future__ import annotations

from pathlib import Path

from muntin_cli.checking.report import Section, note
from muntin_cli.checking.subjects import Subjects
from muntin_cli.laws import LAWS_NOT_TRIED, has_laws


def laws_section(subjects: Subjects, tests: Path | None = None) -> Section:
    """Check modules and functions against their laws, or note that what tries them is not installed.

    Args:
        subjects: The modules and functions.
        tests: The folder of the package's tests, if it has one.
    """
    if not has_laws():
        return Section("laws", (note(LAWS_NOT_TRIED),))
    from muntin_cli.checking.laws import check_laws

    return check_laws(subjects, tests)
