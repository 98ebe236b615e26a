"""Laws, and the attempts to break them: drawing data, comparing, and reporting."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
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
"""A function from a module to the reason why a law does not apply to it; None if it does."""


@dataclass(frozen=True, slots=True)
class Law:
    """A law of a base class.

    Attributes:
        name: The name of its test method, as words.
        statement: The law in one sentence.
        remedy: The remedy for a writer whose module breaks the law.
        is_random: False if one trial without random data is enough.
        does_not_apply: The function from a module to the reason why the law does not apply to it.
        crowd: The most members that a window may have beyond the few that are drawn one by one.
        is_for_some: True to leave the law out where it does not apply, instead of skipping its test.
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
    """Return the name of a module; if it has none, which breaks a law, the name of its class."""
    return getattr(module, "name", None) or type(module).__qualname__


def labelled(module: Any) -> str:
    """Return the name and the version of a module."""
    return f"{named(module)} {getattr(module, 'version', None) or 'without a version'}"


def lacks(*methods: str) -> Reason:
    """Make the function that says why a law does not apply to a module: it lacks optional methods."""

    def reason(module: Any) -> str | None:
        """Return the methods that a module lacks, in words; None if it lacks none."""
        missing = [method for method in methods if not hasattr(module, method)]
        return f"{named(module)} has no {' and no '.join(missing)}" if missing else None

    return reason


def reads_order(module: Any) -> str | None:
    """Return the reason why laws that shuffle events do not apply: the module reads their order; None if they apply."""
    return f"{named(module)} says that it reads the order" if module.reads_order else None


def first_of(strategy: SearchStrategy[object], count: int) -> list[object]:
    """Return the first values of a strategy, equal every time; fewer where it has fewer.

    Ten values are drawn at a time, since most of the work of an example is not the drawing. The first ten values are
    all the simplest one, which is returned once.
    """
    values: list[Any] = []

    def collect(ten_values: list[object]) -> None:
        values.extend(ten_values)

    # Hypothesis draws only inside a test: run a test that collects the values.
    test = given(st.lists(strategy, min_size=10, max_size=10))(collect)
    settings(SETTINGS, max_examples=1 + count // 10)(test)()
    # The first ten values are all the simplest one: keep the last of them.
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
        self.method = ""  # `Conformance.attempt` sets it for an exception
        lines = [statement, facts]
        if stream:
            lines += ["smallest stream:", _indented(stream)]
        lines.append(f"to do: {remedy}")
        super().__init__("\n".join([f"{module} breaks the law: {law}", *map(_indented, lines)]))


class CallError(Exception):
    """A method of the module raised, or a state or result cannot be used by any engine.

    Attributes:
        remedy: What the writer is told to do; None if the law that was tried has a remedy of its own.
        method: The method that raised; empty if none did.
    """

    def __init__(self, facts: str, remedy: str | None = None, method: str = "") -> None:
        self.remedy = remedy
        self.method = method
        super().__init__(facts)


@contextmanager
def calling(what: str, remedy: str | None = None, method: str = "") -> Iterator[None]:
    """Raise `CallError` in the place of an exception that the writer's code raises in the block.

    Args:
        what: The name of the called code in the message.
        remedy: What the writer is told to do; None if the law that is tried has a remedy of its own.
        method: The method of a module that is called; empty for other code.
    """
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
        laws: The laws class, with the attributes that a test sets.
        tested: The subject under test.
        module: The name and the version of the subject.
        tolerance: The relative and absolute tolerance for numbers in results.
        stream: The stream that was drawn, for the report.
    """

    def __init__(self, law: Law, laws: Any, data: Any) -> None:
        """Prepare an attempt.

        Args:
            law: The law that is tried.
            laws: The laws class of the subject under test.
            data: The data from Hypothesis that is drawn from; None for a law that needs none.
        """
        self.law = law
        self.laws = laws
        self._data = data
        self.tested: Any = laws.subject()
        self.module = self.label()
        self.tolerance: float = laws.tolerance
        self.stream: list[Bar | str] = []

    def label(self) -> str:
        """Return the name and the version of the subject."""
        return labelled(self.tested)

    def draw(self, strategy: SearchStrategy[T]) -> T:
        """Draw a value of a strategy."""
        drawn: T = self._data.draw(strategy)
        return drawn

    def same(self, left: Any, right: Any, tolerance: float | None = None) -> bool:
        """Return True if two results are equal within a tolerance, by default that of the laws."""
        return equal(left, right, self.tolerance if tolerance is None else tolerance)

    def expect(self, holds: bool, fact: str | Callable[[], str]) -> None:
        """Raise unless a condition holds; the fact describes the observation instead."""
        if not holds:
            raise self.broken(fact if isinstance(fact, str) else fact())

    def expect_same(self, left: tuple[str, Any], right: tuple[str, Any], tolerance: float | None = None) -> None:
        """Raise unless two results, each with a description, are equal within a tolerance.

        The default is the tolerance of the laws, for floats that were added up in another order. The tolerance is 0 for
        two calls with the same arguments.
        """
        left_description, left_result = left
        right_description, right_result = right
        if not self.same(left_result, right_result, tolerance):
            left_text, right_text = _spell_difference(left_result, right_result)
            raise self.broken(f"{left_description}: {left_text}\n{right_description}: {right_text}")

    @contextmanager
    def unchanged(self, before: str, after: str, value: T, *, copy: Callable[[T], Any] = deepcopy) -> Iterator[None]:
        """Raise if a value has changed at the end of the block.

        Args:
            before: The description of the value before the block.
            after: The description of the value after it.
            value: The value.
            copy: The function that copies the value, or the part of it that matters.
        """
        earlier = copy(value)
        yield
        later = copy(value)
        # By value: it does no harm to replace a part by an equal one.
        if not equal(later, earlier):
            raise self.broken(f"{before}: {earlier!r}\n{after}: {later!r}")

    def call(self, what: str, function: Callable[..., T], *arguments: Any, remedy: str | None = None) -> T:
        """Call the writer's code and return its result; an exception breaks the law.

        Args:
            what: The name of the called code in the report.
            function: The code.
            arguments: Its arguments.
            remedy: The remedy in the report; None for that of the law.
        """
        with calling(what, remedy):
            return function(*arguments)

    def stored(self, state: object, records: Collection[type] = ()) -> Any:
        """Return a state as a checkpoint gives it back; raise `LawError` if no checkpoint can hold it.

        Args:
            state: The state.
            records: The dataclasses and named tuples that may occur in it.
        """
        try:
            return restored(state, records)
        except TypeError as error:
            raise self.broken(f"the state {state!r} cannot be stored: {error}") from None

    def broken(self, facts: str, remedy: str | None = None) -> LawError:
        """Return the report of a broken law, by default with the law's own remedy."""
        law = self.law
        facts = "\n".join(map(shortened, facts.splitlines()))
        stream = "\n".join(map(shortened, timeline(self.stream).splitlines()))
        return LawError(
            law=law.name,
            statement=law.statement,
            module=self.module,
            facts=facts,
            stream=stream,
            remedy=remedy or law.remedy,
        )


def shortened(line: str, longest: int = _LONGEST) -> str:
    """Return a line, cut if it is long."""
    return line if len(line) <= longest else f"{line[:longest]}... ({len(line)} characters)"


def _spell_difference(left: object, right: object) -> tuple[str, str]:
    """Spell two values; if one is long, only from a little before the first difference on."""
    left_text = repr(left)
    right_text = repr(right)
    skipped = 0
    if max(len(left_text), len(right_text)) > _LONGEST:
        skipped = max(0, _first_difference(left_text, right_text) - _BEFORE)
    if not skipped:
        return shortened(left_text), shortened(right_text)
    longest = _LONGEST // 2
    return shortened(f"...{left_text[skipped:]}", longest), shortened(f"...{right_text[skipped:]}", longest)


def _first_difference(left: str, right: str) -> int:
    """Return the first place at which two texts differ; the length of the shorter one if it begins the other."""
    for place, (left_letter, right_letter) in enumerate(zip(left, right, strict=False)):
        if left_letter != right_letter:
            return place
    return min(len(left), len(right))


def _indented(text: str) -> str:
    """Return text with each line moved to the right."""
    return "\n".join(f"  {line}" for line in text.splitlines())
