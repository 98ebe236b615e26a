"""Say why a query failed, in the words of the code that failed.

Spark wraps a Python exception several times; at the top it may say no more than "driver worker exited unexpectedly".
The traceback of the failing module is in there somewhere: this finds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from py4j.protocol import Py4JJavaError

_TRACEBACK: Final = "Traceback (most recent call last):"
_WORKER: Final = "from the Python worker"
_JVM_PART: Final = re.compile(
    r"\s*((SQLSTATE: \w+\s*)+(=== |\Z)|JVM stacktrace:|=== Streaming Query ===|\n\s+at \S+\()"
)
_JAVA_CLASS: Final = re.compile(r"^(?:[\w$]+\.)+[\w$]*(?:Exception|Error): ")
_FRAME: Final = re.compile(r'  File "(?P<file>[^"]*)", line .*\n(?:    .*\n)*')
_MACHINERY: Final = re.compile(
    r"[/\\](?:(?:site|dist)-packages[/\\](?:pyspark|py4j)|(?:pyspark|py4j[^/\\]*)\.zip)[/\\]"
)


def root_cause(error: BaseException) -> str:
    """Return the innermost message that explains a failure, with the Python traceback it holds.

    Frames of PySpark and Py4J are left out of the traceback, and so are the JVM's stack and the query's plan. An
    error that Spark had no part in is returned as its own message.

    Args:
        error: What `awaitTermination`, `StreamingQuery.exception` or an action on a DataFrame raised or returned.
    """
    messages = [_without_jvm(message) for message in _messages(error)]
    with_traceback = [message for message in messages if _TRACEBACK in message]
    return _module_traceback(with_traceback[-1]) if with_traceback else _last_telling(messages)


def _messages(error: BaseException) -> Iterator[str]:
    yield str(error)
    if isinstance(error, Py4JJavaError):
        yield from _java_messages(error.java_exception)
        return
    cause = getattr(error, "_cause", None) or error.__cause__
    if isinstance(cause, BaseException):
        yield from _messages(cause)


def _java_messages(throwable: Any) -> Iterator[str]:
    while throwable is not None:
        yield str(throwable.toString())
        throwable = throwable.getCause()


def _without_jvm(message: str) -> str:
    found = _JVM_PART.search(message)
    return (message[: found.start()] if found else message).strip()


def _module_traceback(message: str) -> str:
    """Keep the worker's traceback where the driver's is around it, and the module's frames of it."""
    start = message.find(_TRACEBACK, max(message.rfind(_WORKER), 0))
    traceback = message[start:]
    return _FRAME.sub(lambda frame: "" if _MACHINERY.search(frame["file"]) else frame[0], traceback)


def _last_telling(messages: list[str]) -> str:
    """Return the innermost message that is more than the name of a Java class."""
    telling = [message for message in messages if " " in message]
    return _JAVA_CLASS.sub("", (telling or messages)[-1])
