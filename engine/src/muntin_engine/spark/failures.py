"""Say why a query failed, in the words of the code that failed.

Spark wraps a Python exception several times; at the top it may say no more than "driver worker exited unexpectedly".
The traceback of the failing module is in there somewhere: this finds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar

from pyspark.errors import PySparkException, PythonException

from muntin_engine.errors import SessionEndedError, SinkError
from muntin_engine.spark.session.classic import Py4JError, Py4JJavaError
from muntin_engine.spark.session.ended import is_cut_off
from muntin_engine.workers.traces_folder import last_death, last_module

E = TypeVar("E", bound=PySparkException)

_TRACEBACK: Final = "Traceback (most recent call last):"
_WORKER: Final = "from the Python worker"
_RUNNER: Final = re.compile(r"^\s*at \S*Python\w*Runner", re.MULTILINE)
_OURS: Final = re.compile(r"^muntin\w*\.[\w.]+: ", re.MULTILINE)
"""An error of ours at the end of a traceback, which names the module if one is to blame."""
_LAST_LINE: Final = re.compile(r"^[\w.]+(?:: .*|$)", re.MULTILINE)
_ABOVE: Final = "the module's own traceback is above"
_CAUSED: Final = "\n\nThe above exception was the direct cause"
_BELOW: Final = "the module's own traceback is below"
_SINK: Final = re.compile(rf"^{SinkError.__module__}\.{SinkError.__name__}: ", re.MULTILINE)
_JVM_PART: Final = re.compile(r"\s*((SQLSTATE: \w+\s*)+(=== |\Z)|=== Streaming Query ===)")
_JVM_STACK: Final = re.compile(
    r"(\n+(JVM stacktrace:\n[^\n]*|Driver stacktrace:|Caused by: [^\n]*|[ \t]+at \S+\([^\n]*|[ \t]+\.\.\. \d+ more))+"
)
_ADVICE: Final = {
    "No space left on device": (
        "the disk of the checkpoint, of an output or of Spark's own files (spark.local.dir) is full\n"
        "  nothing is lost: make room, and start the query with the same checkpoint"
    ),
    "connect back": (
        "the machine is too busy: Spark waits ten seconds for the Python process that asks a query for its state\n"
        "  nothing is lost: start the query with the same checkpoint"
    ),
}
"""Advice for Spark's messages about a machine, by a part of the message."""

_DEAD: Final = re.compile(r"exited unexpectedly|\(crashed\)|EOFException|Connection reset|Broken pipe")
_JAVA_CLASS: Final = re.compile(r"^(?:[\w$]+\.)+[\w$]*(?:Exception|Error): ")
_FRAME: Final = re.compile(r'  File "(?P<file>[^"]*)", line .*\n(?:    .*\n)*')
_MACHINERY: Final = re.compile(
    r"[/\\](?:(?:site|dist)-packages[/\\](?:pyspark|py4j)|(?:pyspark|py4j[^/\\]*)\.zip)[/\\]"
)


def root_cause(error: BaseException) -> str:
    """Return the innermost message that explains a failure, with the Python traceback it holds.

    Frames of PySpark and Py4J are left out of the traceback, and so are the JVM's stack and the query's plan. An
    error that Spark had no part in is returned as its own message. Where a worker on this machine died, the module that
    ran last is named.

    Args:
        error: What `awaitTermination`, `StreamingQuery.exception` or an action on a DataFrame raised or returned.
    """
    if is_cut_off(error):
        return str(SessionEndedError(f"its JVM does not answer ({error})"))
    whole = list(_messages(error))
    ran = last_death() if any(map(_DEAD.search, whole)) else ""
    messages = [_without_jvm(message) for message in whole]
    of_sinks = [message for message in messages if _SINK.search(message) and _TRACEBACK in message]
    if of_sinks:
        return _led(ran, _without_machinery(of_sinks[-1][of_sinks[-1].find(_TRACEBACK) :]))
    with_traceback = [message for message in messages if _TRACEBACK in message]
    said = _module_traceback(with_traceback[-1]) if with_traceback else _last_telling(messages)
    if advice := [advice for sign, advice in _ADVICE.items() if sign in said]:
        return _led(ran, "\n  ".join([said, *advice]))
    is_worker = any(_WORKER in message or _RUNNER.search(message) for message in whole)
    if is_worker and not ran and not _OURS.search(said) and (last := last_module()) and last.split("\n")[0] not in said:
        said += f"\n  the module that ran last in a worker: {last}"
    return _led(ran, said)


def _led(ran: str, said: str) -> str:
    """Put before a message which worker died, if one did."""
    return f"{ran}\n{said}" if ran else said


def cause_first(error: BaseException) -> str:
    """Return `root_cause` with its last error first, and of the tracebacks after it the innermost alone.

    Args:
        error: The same.
    """
    said = root_cause(error)
    if not said.startswith(_TRACEBACK):
        return said
    last = ([*_OURS.finditer(said)] or [*_LAST_LINE.finditer(said)])[-1]
    cause = _OURS.sub("", said[last.start() :], count=1)
    return f"{cause.replace(_ABOVE, _BELOW)}\n\n{said.partition(_CAUSED)[0]}"


def in_our_words(error: PySparkException, kind: type[E]) -> E:
    """Return an error of a kind of Spark's whose message begins with what failed; see `cause_first`."""
    told = kind(cause_first(error))
    told._cause = error  # type: ignore[attr-defined]  # as PySpark itself keeps what it captured
    return told


@contextmanager
def module_first() -> Iterator[None]:
    """Raise what Python workers raised in the block with the error of the module at the beginning."""
    try:
        yield
    except PythonException as error:
        raise in_our_words(error, PythonException) from None


def is_from_spark(error: BaseException) -> bool:
    """True if an error came out of Spark, or out of the connection to it."""
    return isinstance(error, PySparkException | Py4JError)


def _messages(error: BaseException) -> Iterator[str]:
    yield str(error)
    if isinstance(error, Py4JJavaError):
        with suppress(Py4JError, OSError):  # its JVM may have ended since
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
    """Return a message without the JVM's stacks; what Python says after one stays."""
    found = _JVM_PART.search(message)
    return _JVM_STACK.sub("", message[: found.start()] if found else message).strip()


def _module_traceback(message: str) -> str:
    """Keep the worker's traceback where the driver's is around it, and the module's frames of it."""
    start = message.find(_TRACEBACK, max(message.rfind(_WORKER), 0))
    return _without_machinery(message[start:])


def _without_machinery(traceback: str) -> str:
    return _FRAME.sub(lambda frame: "" if _MACHINERY.search(frame["file"]) else frame[0], traceback)


def _last_telling(messages: list[str]) -> str:
    """Return the innermost message that is more than the name of a Java class."""
    telling = [message for message in messages if " " in message]
    return _JAVA_CLASS.sub("", (telling or messages)[-1])
