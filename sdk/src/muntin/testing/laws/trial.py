"""Laws, and one attempt to break one: what was drawn, and how a failure is told."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final, TypeAlias, TypeVar

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from muntin.drawings import Bar, timeline
from muntin.errors import ModuleError
from muntin.testing.equality import equal
from muntin.testing.plain_data import restored

SETTINGS = settings(
    max_examples=25,
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=False,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
    verbosity=Verbosity.quiet,  # a broken law draws its stream itself
    phases=(Phase.generate, Phase.shrink),
)

CROWDED = settings(SETTINGS, max_examples=8)
"""Settings of laws over windows of hundreds of members: fewer examples, as each takes as long as many small ones."""

Reason: TypeAlias = Callable[[Any], str | None]
"""Says why a law does not apply to a module; None if it does."""


@dataclass(frozen=True, slots=True)
class Law:
    """A law of a base class.

    Attributes:
        name: The name of its test method, as words.
        statement: One sentence.
        crowd: The most members that a window may have beyond the few that are drawn one by one. All others are as
            `law` in `conformance.py` takes them.
    """

    name: str
    statement: str
    remedy: str
    is_random: bool
    does_not_apply: Reason
    crowd: int = 0
    is_for_some: bool = False


def settings_of(law: Law) -> settings:
    """Return the settings of the attempts to break a law."""
    return CROWDED if law.crowd else SETTINGS


def named(module: Any) -> str:
    """Return the name of a module; that of its class, if it has none, which a law says."""
    return getattr(module, "name", None) or type(module).__qualname__


def labelled(module: Any) -> str:
    """Return the name and the version of a module."""
    return f"{named(module)} {getattr(module, 'version', None) or 'without a version'}"


def lacks(*methods: str) -> Reason:
    """Say of a module which of some optional methods it has not defined."""

    def reason(module: Any) -> str | None:
        missing = [method for method in methods if not hasattr(module, method)]
        return f"{named(module)} has no {' and no '.join(missing)}" if missing else None

    return reason


def reads_order(module: Any) -> str | None:
    """Say of a module that it reads the order of events."""
    return f"{named(module)} says that it reads the order" if module.reads_order else None


def first_of(strategy: SearchStrategy[object], count: int) -> list[object]:
    """Return the first values of a strategy, the same ones every time: fewer where it has fewer.

    They are drawn ten at a time, since most of the work of an example is not the drawing. The values of the first
    example are all the simplest one, which is returned once.
    """
    values: list[Any] = []

    def take(ten: list[object]) -> None:
        values.extend(ten)

    settings(SETTINGS, max_examples=1 + count // 10)(given(st.lists(strategy, min_size=10, max_size=10))(take))()
    return values[9 : 9 + count]


T = TypeVar("T")
ANY_PAYLOAD: Final = "make it work for the stream above, or say with payloads = ... what may come"

_LONGEST: Final = 160
_BEFORE: Final = 20


class LawError(ModuleError, AssertionError):
    """A module does not keep a law of its base class; the module writer must act.

    The message draws the smallest stream that shows it, and says what to do.

    Attributes:
        law: The law's name, for example `"order does not matter"`.
        module: The module's name and version.
        stream: The smallest stream found that shows it, as a time line; empty if no stream is needed.
        method: The method that raised, or `call` for a function; empty if none did.
    """

    def __init__(self, law: str, statement: str, module: str, facts: str, stream: str, remedy: str) -> None:
        self.law = law
        self.module = module
        self.stream = stream
        self.method = ""
        lines = [statement, facts, *(["smallest stream:", _indented(stream)] if stream else []), f"to do: {remedy}"]
        super().__init__("\n".join([f"{module} breaks the law: {law}", *map(_indented, lines)]))


class CallError(Exception):
    """A method of the module raised, or a state or result cannot be used by any engine.

    Attributes:
        remedy: The remedy for the writer; None if the law that was tried says so.
        method: The method that raised; empty if none did.
    """

    def __init__(self, facts: str, remedy: str | None = None, method: str = "") -> None:
        self.remedy = remedy
        self.method = method
        super().__init__(facts)


@contextmanager
def calling(what: str, remedy: str | None = None, method: str = "") -> Iterator[None]:
    """Report what the writer's code raises, with a remedy that is not the law's own, and the method of a module."""
    __tracebackhide__ = True
    try:
        yield
    except (LawError, CallError):
        raise
    except Exception as error:
        raise CallError(f"{what} raised {type(error).__name__}: {error}", remedy, method) from error


class Trial:
    """Draws data for one attempt, remembers it, and raises `LawError` where the law does not hold.

    Attributes:
        law: The law that is tried.
        laws: The laws class, with what a test sets on it.
        tested: What is under test.
        module: Its name and version.
        tolerance: Relative and absolute, for numbers in results.
        stream: The stream that was drawn, for the report.
    """

    def __init__(self, law: Law, laws: Any, data: Any) -> None:
        """Prepare an attempt on data from Hypothesis; None for a law that needs none."""
        self.law, self.laws, self._data = law, laws, data
        self.tested: Any = laws.subject()
        self.module = self.label()
        self.tolerance: float = laws.tolerance
        self.stream: list[Bar | str] = []

    def label(self) -> str:
        """Return the name and the version of what is under test."""
        return labelled(self.tested)

    def draw(self, strategy: SearchStrategy[T]) -> T:
        """Return something from a strategy."""
        drawn: T = self._data.draw(strategy)
        return drawn

    def same(self, left: Any, right: Any, tolerance: float | None = None) -> bool:
        """Return True if two results are equal within a tolerance, by default that of the laws."""
        return equal(left, right, self.tolerance if tolerance is None else tolerance)

    def expect(self, holds: bool, fact: str | Callable[[], str]) -> None:
        """Raise unless something holds; the fact says what was seen instead."""
        if not holds:
            raise self.broken(fact if isinstance(fact, str) else fact())

    def expect_same(self, left: tuple[str, Any], right: tuple[str, Any], tolerance: float | None = None) -> None:
        """Raise unless two results, each with a description, are equal within a tolerance.

        That is by default the one of the laws, for floats that were added up in another order; 0 is for equal calls.
        """
        if not self.same(left[1], right[1], tolerance):
            raise self.broken("\n".join(f"{text}: {value}" for text, value in _told_apart(left, right)))

    @contextmanager
    def unchanged(self, before: str, after: str, value: T, look: Callable[[T], Any] = deepcopy) -> Iterator[None]:
        """Raise if a value is another one at the end of the block; words say what it was before, and after it.

        What is compared is how it looks, which shares nothing with the value.
        """
        kept = look(value)
        yield
        if not equal(now := look(value), kept):
            raise self.broken(f"{before}: {kept!r}\n{after}: {now!r}")

    def call(self, what: str, function: Callable[..., T], *arguments: Any, remedy: str | None = None) -> T:
        """Return the result of the writer's code; an exception breaks the law."""
        with calling(what, remedy):
            return function(*arguments)

    def stored(self, state: object, records: Collection[type] = ()) -> Any:
        """Return a state as a checkpoint gives it back."""
        try:
            return restored(state, records)
        except TypeError as error:
            raise self.broken(f"the state {state!r} cannot be stored: {error}") from None

    def broken(self, facts: str, remedy: str | None = None) -> LawError:
        """Return the report of a broken law, by default with the law's own remedy."""
        law = self.law
        facts = "\n".join(map(shortened, facts.splitlines()))
        stream = "\n".join(map(shortened, timeline(self.stream).splitlines()))
        return LawError(law.name, law.statement, self.module, facts, stream, remedy or law.remedy)


def shortened(line: str, longest: int = _LONGEST) -> str:
    """Return a line, cut if it is long."""
    return line if len(line) <= longest else f"{line[:longest]}... ({len(line)} characters)"


def _told_apart(left: tuple[str, object], right: tuple[str, object]) -> list[tuple[str, str]]:
    """Return two values in words, each with its description; of long ones the part in which they begin to differ."""
    (first, one), (second, other) = (left[0], repr(left[1])), (right[0], repr(right[1]))
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    skipped = max(0, same - _BEFORE) if max(len(one), len(other)) > _LONGEST else 0
    cut = [shortened(f"...{text[skipped:]}", _LONGEST // 2) if skipped else shortened(text) for text in (one, other)]
    return list(zip((first, second), cut, strict=True))


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
