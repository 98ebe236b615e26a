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
from muntin_cli.waiting_line import WaitingLine

_PROBE: Final = Path(__file__).parents[1] / "probes" / "own_laws.py"

TestedLaws: TypeAlias = Mapping[tuple[str, str], str]
"""How laws are broken that the package's own tests try, by subject and law; an empty text for a law that is kept."""


def check_laws(subjects: Subjects, tests: Path | None = None, progress: WaitingLine | None = None) -> Section:
    """Try all laws on random streams of the types that each module and function declares.

    Args:
        subjects: Modules and functions.
        tests: Folder of the package's tests, whose laws classes can say which payloads a module takes. They are run if
            the types alone do not tell.
        progress: Line that says which subject is tried; None if nobody waits.
    """
    progress = progress or WaitingLine("")

    @cache  # a run of the tests is slow, and many packages need none
    def tested_laws() -> TestedLaws:
        return {} if tests is None else _run_laws_in(tests)

    items: list[Item] = []
    for number, subject in enumerate(subjects.made, start=1):
        progress.say(f"trying the laws of {subject.offered.name}, {number} of {len(subjects.made)}")
        items += _try_laws_of(subject, tested_laws)
    for name, reason in subjects.unmade.items():
        items.append(note(f"{name} was not tried: {reason}"))
    return Section("laws", tuple(items))


def _run_laws_in(tests: Path) -> TestedLaws:
    """Run the laws among a package's tests in a process of their own; none where that is not possible."""
    try:
        answer = ask_python(_PROBE, str(tests))
    except EnvironmentLacksError:  # the package's tests cannot be run here, so they say nothing
        return {}
    tested_laws: dict[tuple[str, str], str] = {}
    for name, law, broken in answer:
        # Two laws classes may try one subject: a law is broken if either breaks it.
        tested_laws[name, law] = tested_laws.get((name, law)) or broken
    return tested_laws


def _try_laws_of(subject: CheckedSubject, tested_laws: Callable[[], TestedLaws]) -> Iterator[Item]:
    """Try the laws of a subject: yield each that is broken and those not tried, or that all are kept.

    Args:
        subject: The offer of a plugin.
        tested_laws: Function that returns the laws which the package's own tests try. It runs these tests, so it is
            called only for a law that cannot be tried here.
    """
    try:
        verdicts = list(try_laws(subject.offered))
    except Exception as error:  # a module may raise anything where no law expects it
        yield finding(f"the laws of {subject.label} cannot be tried: {type(error).__name__}: {error}")
        return
    outcomes = Counter(verdict.outcome for verdict in verdicts)
    failures = [verdict.reason for verdict in verdicts if verdict.outcome is Outcome.BROKEN]
    # A law that cannot be tried from the types alone may be tried by the package's own tests.
    kept_in_tests = 0
    untried: list[Verdict] = []
    for verdict in verdicts:
        if verdict.outcome is not Outcome.UNTRIED:
            continue
        failure = tested_laws().get((subject.offered.name, verdict.law))
        if failure is None:
            untried.append(verdict)
        elif failure:
            failures.append(failure)
        else:
            kept_in_tests += 1
    yield from map(finding, failures)
    if untried:
        yield note(_describe_untried(subject, untried))
    if not failures and not untried:
        yield ok(_describe_kept(subject, outcomes, kept_in_tests))


def _describe_kept(subject: CheckedSubject, outcomes: Counter[Outcome], kept_in_tests: int) -> str:
    """Say how many laws a subject keeps, how many of them its own tests tried, and how many do not apply."""
    text = f"{subject.label} keeps {counted(outcomes[Outcome.KEPT] + kept_in_tests, 'law')}"
    if kept_in_tests:
        text += f", {kept_in_tests} of them tried by its own tests"
    if outcomes[Outcome.SKIPPED]:
        text += f", not applicable: {outcomes[Outcome.SKIPPED]}"
    return text


def _describe_untried(subject: CheckedSubject, untried: list[Verdict]) -> str:
    """Say which laws could not be tried, with an error that shows why, and what to do."""
    laws = ", ".join(verdict.law for verdict in untried)
    reason = untried[0].reason
    lines_about_errors = (line.strip() for line in reason.splitlines() if "raised" in line)
    example = next(lines_about_errors, reason.partition("\n")[0])
    return (
        f"{subject.label}: {counted(len(untried), 'law')} not tried, as its types do not say what it takes\n"
        f"  {laws}\n  {example}\n"
        "  try them in its own tests, where a laws class can say what may come: payloads = ..., arguments = ..."
    )
