"""Whether a package's modules and functions keep the laws of their base classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from muntin.testing import Outcome, Verdict, try_laws
from muntin_cli.checking.report import Item, Section, finding, note, ok
from muntin_cli.checking.subjects import Subject, Subjects
from muntin_cli.output import counted


def check_laws(subjects: Subjects) -> Section:
    """Try all laws on random streams of the types that each module and function declares."""
    items = [item for subject in subjects.found for item in _check(subject)]
    items += [note(f"{name} was not tried: {reason}") for name, reason in subjects.unmade.items()]
    return Section("laws", tuple(items))


def _check(subject: Subject) -> Iterator[Item]:
    try:
        verdicts = list(try_laws(subject.offered))
    except Exception as error:  # a module may raise anything where no law expects it
        yield finding(f"the laws of {subject.label} cannot be tried: {type(error).__name__}: {error}")
        return
    broken = [verdict for verdict in verdicts if verdict.outcome is Outcome.BROKEN]
    untried = [verdict for verdict in verdicts if verdict.outcome is Outcome.UNTRIED]
    yield from (finding(verdict.reason) for verdict in broken)
    if untried:
        yield note(_about_untried(subject, untried))
    if not broken and not untried:
        counts = Counter(verdict.outcome for verdict in verdicts)
        skipped = f", not applicable: {counts[Outcome.SKIPPED]}" if counts[Outcome.SKIPPED] else ""
        yield ok(f"{subject.label} keeps {counted(counts[Outcome.KEPT], 'law')}{skipped}")


def _about_untried(subject: Subject, untried: list[Verdict]) -> str:
    laws = ", ".join(verdict.law for verdict in untried)
    return (
        f"{subject.label}: {counted(len(untried), 'law')} not tried, as its types do not say what it takes\n"
        f"  {laws}\n  {_why(untried[0].reason)}\n"
        "  try them in its own tests, where a laws class can say what may come: payloads = ..., arguments = ..."
    )


def _why(reason: str) -> str:
    """Return the line that says what happened, of a report or a plain reason."""
    raised = [line.strip() for line in reason.splitlines() if "raised" in line]
    return raised[0] if raised else reason.partition("\n")[0]
