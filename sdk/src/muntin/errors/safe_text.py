"""Text of values and exceptions of plugins and of data, which may be huge, or raise when it is formatted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

MOST_CHARACTERS: Final = 2000
"""Characters of a text that an error shows."""

_MOST_LINKS: Final = 8
"""Exceptions of a chain that are shown: the first ones, which failed last."""


def cut(text: str, longest: int = MOST_CHARACTERS) -> str:
    """Return text that can be printed anywhere, without its middle if it is long.

    Example:
        >>> cut("0123456789", 4)
        '012 [6 characters left out] 9'
    """
    if len(text) > longest:
        tail = longest // 4
        text = f"{text[: longest - tail]} [{len(text) - longest:,} characters left out] {text[len(text) - tail :]}"
    # A lone half of a surrogate pair cannot be written as UTF-8: it is shown as an escape.
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def safe_repr(value: object, longest: int = MOST_CHARACTERS) -> str:
    """Return `repr` of a value, cut to size; if `repr` raises, a note that it does."""
    # Python refuses to write out the digits of such an int.
    if type(value) is int and value.bit_length() > 10_000:
        return f"an int of {value.bit_length():,} bits"
    return cut(_text_by(repr, value), longest)


def safe_message(error: BaseException, longest: int = MOST_CHARACTERS) -> str:
    """Return the message of an exception, cut to size; if its `str` raises, a note that it does.

    Example:
        >>> safe_message(ZeroDivisionError("division by zero")), safe_message(SystemExit(3))
        ('ZeroDivisionError: division by zero', 'SystemExit: 3')
    """
    return f"{type(error).__name__}: {cut(_text_by(str, error), longest)}"


def safe_cause(error: BaseException) -> BaseException:
    """Return an exception that can be the cause of another one.

    It is the exception itself, unless a traceback with it would be huge or could not be written. In that case it is an
    exception of the same name and with the same traceback, whose message is cut to size.
    """
    chain = _chain(error)
    if all(map(_is_plain, chain)) and len(chain) <= _MOST_LINKS:
        return error
    # The loop begins with the innermost cause, so that each stand-in can have the one before it as its cause.
    cause: BaseException | None = None
    for link in reversed(chain[:_MOST_LINKS]):
        cls = type(type(link).__name__, (Exception,), {"__module__": type(link).__module__})
        stand_in: BaseException = cls(cut(_text_by(str, link)))
        stand_in.__cause__ = cause
        cause = stand_in.with_traceback(link.__traceback__)
    return cause or error


def _chain(error: BaseException) -> list[BaseException]:
    """Return an exception, its cause, the cause of that, and so on, as a traceback shows them."""
    chain: list[BaseException] = []
    link: BaseException | None = error
    # A chain may lead back into itself.
    while link is not None and all(link is not earlier for earlier in chain):
        chain.append(link)
        # Without a cause, a traceback shows the exception that was being handled, unless it was raised `from None`.
        context = None if link.__suppress_context__ else link.__context__
        link = link.__cause__ or context
    return chain


def _is_plain(error: BaseException) -> bool:
    """Return True if a traceback can show an exception as it is: its texts are short and can be written."""
    # A group has exceptions of its own, each with a traceback, of any number and length.
    if isinstance(error, BaseExceptionGroup):
        return False
    notes = getattr(error, "__notes__", [])
    if not isinstance(notes, list):
        return False  # code of a plugin may have set any value
    texts = [_text_by(str, error), *[_text_by(str, note) for note in notes]]
    return sum(map(len, texts)) <= MOST_CHARACTERS and all(cut(text) == text for text in texts)


def _text_by(spell: Callable[[object], str], value: object) -> str:
    """Return the text of a value by `str` or `repr`, or a note on the exception that its own code raises."""
    try:
        return spell(value)
    except BaseException as error:  # an exit, too, is of the value's own making
        return f"<{type(value).__name__}, whose {spell.__name__}() raises {type(error).__name__}>"
