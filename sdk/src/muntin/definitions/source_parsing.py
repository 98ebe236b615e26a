"""Python source as syntax trees, from any thread.

While CPython makes a syntax tree, it counts the tree's depth in a counter that all threads of an interpreter share.
Threads that parse at the same time may disturb each other's count, and one of them then gets a `SystemError` for source
without a fault. So only one thread parses for Muntin at a time; and because other libraries parse as well, it tries
again after such an error.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from threading import RLock
from typing import Any, Final, Literal, TypeVar

T = TypeVar("T")

_LOCK: Final = RLock()
_TRIES: Final = 20
_MISMATCH: Final = "recursion depth mismatch"
"""Part of the message of the error that another thread causes."""


def parse_source(text: str | bytes, mode: Literal["exec", "eval"] = "exec") -> Any:
    """Parse source while no other thread of Muntin does: return an `ast.Module`, or for `eval` an `ast.Expression`.

    Raises:
        SyntaxError: The text is not Python.
        ValueError: The text holds a null character.

    Example:
        >>> ast.unparse(parse_source("1+1", "eval"))
        '1 + 1'
    """
    return while_parsing(lambda: ast.parse(text, mode=mode))


def literal_of(text: str) -> Any:
    """Return the value of a Python literal, as `ast.literal_eval` does.

    Raises:
        SyntaxError: The text is not Python.
        ValueError: The text is not a literal.

    Example:
        >>> literal_of(" (1, 'a') ")
        (1, 'a')
    """
    # Leading blanks would be an indent, which is no Python: `ast.literal_eval` ignores them, too.
    return ast.literal_eval(parse_source(text.lstrip(" \t"), "eval"))


def while_parsing(call: Callable[[], T]) -> T:
    """Call a function that parses source while no other thread of Muntin parses.

    The function is called again if a thread of another library disturbed it, by parsing at the same time.

    Args:
        call: The function, which must have no effects, as it may be called several times: for example one that calls
            `inspect.getsource` on a class.
    """
    with _LOCK:
        for _ in range(_TRIES - 1):
            try:
                return call()
            except SystemError as error:
                if _MISMATCH not in str(error):
                    raise
        return call()  # the last try, whose error goes to the caller
