"""Check a package's modules and functions against the laws of their base classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from muntin.testing import Outcome, Verdict, try_laws
from muntin_cli.checking.report import Item, Section, finding, note, ok
from muntin_cli.checking.subjects import CheckedSubject, Subjects
from muntin_cli.errors import EnvironmentLacksError
from muntin_cli.output import counted
from muntin_cli.processes import ask_python

_PROBE: Final = Path(__file__).parents[1] / "probes" / "own_laws.py"

OwnTests: TypeAlias = Callable[[], Mapping[tuple[str, str], str]]
"""Returns how the laws that the package's own tests try are broken, by subject and law; empty text for a kept one."""


def check_laws(subjects: Subjects, tests: Path | None = None) -> Section:
    """Try all laws on random streams of the types that each module and function declares.

    Args:
        subjects: The modules and functions.
        tests: The folder of the package's tests. Their laws classes may say what payloads come; they are run where the
            types alone do not.
    """
    own = _tried_in(tests)
    items = [item for subject in subjects.found for item in _check(subject, own)]
    items += [note(f"{name} was not tried: {reason}") for name, reason in subjects.unmade.items()]
    return Section("laws", tuple(items))


def _tried_in(tests: Path | None) -> OwnTests:
    @cache
    def tried() -> Mapping[tuple[str, str], str]:
        if tests is None:
            return {}
        try:
            answer = ask_python(_PROBE, str(tests))
        except EnvironmentLacksError:  # the package's tests cannot be run here, so they say nothing
            return {}
        found: dict[tuple[str, str], str] = {}
        for name, law, broken in answer:
            found[name, law] = found.get((name, law)) or broken
        return found

    return tried


def _check(subject: CheckedSubject, own: OwnTests) -> Iterator[Item]:
    try:
        verdicts = list(try_laws(subject.offered))
    except Exception as error:  # a module may raise anything where no law expects it
        yield finding(f"the laws of {subject.label} cannot be tried: {type(error).__name__}: {error}")
        return
    broken = [verdict.reason for verdict in verdicts if verdict.outcome is Outcome.BROKEN]
    left = [verdict for verdict in verdicts if verdict.outcome is Outcome.UNTRIED]
    tried = own() if left else {}
    in_tests = [tried[subject.offered.name, v.law] for v in left if (subject.offered.name, v.law) in tried]
    untried = [verdict for verdict in left if (subject.offered.name, verdict.law) not in tried]
    yield from map(finding, [*broken, *filter(None, in_tests)])
    if untried:
        yield note(_about_untried(subject, untried))
    if not broken and not untried and not any(in_tests):
        yield ok(_about_kept(subject, Counter(verdict.outcome for verdict in verdicts), len(in_tests)))


def _about_kept(subject: CheckedSubject, counts: Counter[Outcome], in_tests: int) -> str:
    of_them = f", {in_tests} of them tried by its own tests" if in_tests else ""
    skipped = f", not applicable: {counts[Outcome.SKIPPED]}" if counts[Outcome.SKIPPED] else ""
    return f"{subject.label} keeps {counted(counts[Outcome.KEPT] + in_tests, 'law')}{of_them}{skipped}"


def _about_untried(subject: CheckedSubject, untried: list[Verdict]) -> str:
    laws, reason = ", ".join(verdict.law for verdict in untried), untried[0].reason
    raised = (line.strip() for line in reason.splitlines() if "raised" in line)
    happened = next(raised, reason.partition("\n")[0])
    return (
        f"{subject.label}: {counted(len(untried), 'law')} not tried, as its types do not say what it takes\n"
        f"  {laws}\n  {happened}\n"
        "  try them in its own tests, where a laws class can say what may come: payloads = ..., arguments = ..."
    )
