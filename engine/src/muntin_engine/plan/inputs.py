"""The properties of a query's input as a whole: progress, sources, lateness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from muntin import (
    Lateness,
    ProgressPolicy,
    Punctuated,
    QueryError,
)
from muntin.progress import identity_of
from muntin_engine.state.query_identity import QueryIdentity

MOST_SOURCES: Final = 256
"""How many sources an input may have."""


@dataclass(frozen=True, slots=True)
class Input:
    """The rules for the watermark of an input, and for late rows.

    Attributes:
        progress: The progress policy: the watermark that rows imply.
        sources: The sources that are waited for; none if the input is one source without a name.
        late: The treatment of late rows.
        heartbeats: The number of other streams that bring punctuation.
        has_clock: True if the input has a clock.
    """

    progress: ProgressPolicy = Punctuated()  # noqa: RUF009  # it is frozen
    sources: tuple[str, ...] = ()
    late: Lateness = Lateness()  # noqa: RUF009
    heartbeats: int = 0
    has_clock: bool = False

    @property
    def says_when_complete(self) -> bool:
        """True if the input says so without rows of punctuation among its own."""
        implies = not isinstance(self.progress, Punctuated) or self.heartbeats > 0
        return implies or (self.progress.idle is not None and self.progress.idle.lag is not None)

    def identity(self) -> QueryIdentity:
        """Return the part of the input that the state in a checkpoint depends on, as plain data."""
        return {
            "progress": identity_of(self.progress),
            "sources": list(self.sources),
            "late": str(self.late) if self.late.corrects else "",
        }


def check_sources(column: object | None, sources: Sequence[str]) -> None:
    """Refuse sources that cannot be told apart.

    Raises:
        QueryError: They are one text and no list of names. There is a column of sources and no declared source, or the
            other way round; or a name comes twice.
    """
    if isinstance(sources, str):
        raise QueryError(f"sources={sources!r} is one text\n  expected: a list of names, sources=[{sources!r}]")
    if (column is None) != (not sources):
        given = "sources and no column" if column is None else "a column and no sources"
        raise QueryError(
            f"an input of several sources needs their names and a column that says which one a row is of; got {given}\n"
            "  for example events(..., source='link', sources=['north', 'south'])"
        )
    if not all(isinstance(source, str) for source in sources):
        raise QueryError(f"the names of sources are text, got {sources!r}")
    if len(set(sources)) < len(sources) or len(sources) > MOST_SOURCES:
        raise QueryError(f"an input has up to {MOST_SOURCES} sources with different names, got {', '.join(sources)}")
