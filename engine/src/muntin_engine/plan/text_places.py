"""Places in the text of a query, which its errors begin with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from difflib import get_close_matches
from math import isfinite
from typing import Any, Final

from muntin.errors import MuntinError, QueryError, message_of
from muntin.errors.messages import ErrorMessage

MOST_VALUES: Final = 100_000
"""The number of values that a text may have; YAML, whose parts may stand for others, has more in a few lines."""

DEEPEST: Final = 64
"""The number of lists and objects that may stand in each other."""

_MOST_BITS: Final = 1024


class PlacedError(QueryError):
    """An error in the text of a query; its message begins with the place in the text.

    Attributes:
        place: The place, such as `query[2].aggregate.p90`.
        fault: The message without the place.
    """

    def __init__(self, place: str, fault: str | Exception, advice: str = "") -> None:
        """Make an error at a place in the text.

        Args:
            place: The place.
            fault: The message, or an error of a call that the text describes.
            advice: A further line of the message; empty for none.
        """
        message = message_of(fault) if isinstance(fault, Exception) else fault
        self.fault = ErrorMessage("{message}{advice}", message=message, advice=f"\n  {advice}" if advice else "")
        self.place = place
        # The message of another error than a QueryError may make no sense without its kind: that of a KeyError, say.
        needs_kind = not isinstance(fault, str | QueryError)
        super().__init__(
            "{place}: {kind}{fault}",
            place=place,
            kind=f"{type(fault).__name__}: " if needs_kind else "",
            fault=self.fault,
        )
        if isinstance(fault, MuntinError):
            self.argument = fault.argument
            self.value = fault.value


@contextmanager
def errors_at(here: str) -> Iterator[None]:
    """Add a place in the text to every exception that is raised in the block, as a `PlacedError`.

    Any exception counts: a text also calls code of plugins, of the program and of Spark.

    Args:
        here: The place of the part of the text that the block reads.
    """
    try:
        yield
    except PlacedError:
        raise  # its place is within this one, so it says more
    except Exception as error:
        raise PlacedError(here, error) from error


def did_you_mean(names: Iterable[object], candidates: Iterable[str]) -> str:
    """Return the end of a message about names that do not exist: a name that may be meant, or else all names.

    Args:
        names: The names that do not exist.
        candidates: The names that exist.
    """
    candidate_names = list(candidates)
    for name in names:
        matches = get_close_matches(str(name), candidate_names, n=1)
        if matches:
            return f"\n  did you mean {matches[0]!r}?"
    return f"\n  there are {', '.join(candidate_names) or 'none'}"


def plain(data: Any, here: str) -> Any:
    """Return data that YAML may have read as JSON would have them, such as a date as text.

    Args:
        data: The data.
        here: The place of the data in the whole text.

    Raises:
        PlacedError: The data hold a value that JSON does not have, or they are too large or nested too deeply. Data of
            YAML that contain themselves are too deep.
    """
    return _PlainReader().read(data, here, depth=0)


class _PlainReader:
    """Turns what YAML reads into what JSON has, and refuses data that are too large."""

    def __init__(self) -> None:
        self._value_count = 0

    def read(self, data: Any, here: str, depth: int) -> Any:
        """Return data as JSON has them.

        Args:
            data: The data.
            here: The place of the data in the whole text.
            depth: The number of lists and objects that the data are in.

        Raises:
            PlacedError: The data hold a value that JSON does not have, or are too large or nested too deeply.
        """
        self._check_size(here, depth)
        self._value_count += 1  # in all calls together, as this method calls itself for each part
        if isinstance(data, list):
            return [self.read(part, f"{here}[{number}]", depth + 1) for number, part in enumerate(data)]
        if isinstance(data, Mapping):
            return self._object(data, here, depth)
        if isinstance(data, date):
            return data.isoformat()  # YAML reads a day that is not quoted as a date
        if isinstance(data, int) and data.bit_length() > _MOST_BITS:
            raise PlacedError(here, f"a number of more than {_MOST_BITS} bits is none that Muntin reads")
        is_finite = not isinstance(data, float) or isfinite(data)  # YAML has `.nan` and `.inf`, and JSON neither
        if (data is None or isinstance(data, bool | str | int | float)) and is_finite:
            return data
        expected = "expected: text, a number, a list or an object"
        raise PlacedError(here, f"{data!r:.80} is nothing that JSON has\n  {expected}")

    def _check_size(self, here: str, depth: int) -> None:
        """Refuse data that are nested too deeply, or hold too many values.

        Raises:
            PlacedError: The data are refused.
        """
        place = here if len(here) < 200 else f"{here[:80]}..."  # of data that are nested deeply, a place is long
        if depth > DEEPEST:
            raise PlacedError(place, f"the text is more than {DEEPEST} deep")
        if self._value_count > MOST_VALUES:
            raise PlacedError(place, f"the text is of more than {MOST_VALUES} values")

    def _object(self, data: Mapping[Any, Any], here: str, depth: int) -> dict[str, Any]:
        """Return an object as JSON has it, with names that are text.

        Raises:
            PlacedError: A name is no text, or occurs twice.
        """
        parts = {}
        for key, part in data.items():
            # YAML reads the word `on`, which is an argument of a join, as true.
            name = "on" if key is True and "join" in data else key
            if name in parts:  # keys are different: only true and a quoted "on" become one name
                raise PlacedError(here, "there is on twice")
            if not isinstance(name, str):
                hint = "quote it"
                if isinstance(name, bool):
                    hint = "YAML reads on, yes and no as true and false: quote them"
                raise PlacedError(here, f"the name {name!r:.80} is no text\n  {hint}")
            parts[name] = part
        return {name: self.read(part, f"{here}.{name}", depth + 1) for name, part in parts.items()}
