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

from muntin.errors import MuntinError
from muntin_engine.backends.spark.private_parts import cause_of, set_cause
from muntin_engine.backends.spark.session.classic import Py4JError, Py4JJavaError
from muntin_engine.backends.spark.session.ended import is_cut_off
from muntin_engine.errors import SessionEndedError, SinkError, StateError
from muntin_engine.workers.traces_folder import last_death, last_module

E = TypeVar("E", bound=PySparkException)

_TRACEBACK: Final = "Traceback (most recent call last):"
_WORKER: Final = "from the Python worker"
_RUNNER: Final = re.compile(r"^\s*at \S*Python\w*Runner", re.MULTILINE)
"""A line in a stack of the JVM of the code that runs Python workers, such as `ArrowPythonRunner`."""

_MUNTIN_ERROR: Final = re.compile(r"(?:^|(?<=from the Python worker: ))muntin\w*\.[\w.]+: ", re.MULTILINE)
"""The class of an error of Muntin's, which names the module if one is to blame.

It is at the beginning of a line, or on Spark Connect after the words about the worker.
"""

_LAST_LINE: Final = re.compile(r"^[\w.]+(?:: .*|$)", re.MULTILINE)
"""The last line of a traceback: the class of the error and its message."""

_CAUSED: Final = "\n\nThe above exception was the direct cause"
_SINK: Final = re.compile(rf"^{SinkError.__module__}\.{SinkError.__name__}: ", re.MULTILINE)
_JVM_PART: Final = re.compile(r"\s*((SQLSTATE: \w+\s*)+(=== |\Z)|=== Streaming Query ===)")
_JVM_STACK: Final = re.compile(
    r"(\n+(JVM stacktrace:\n[^\n]*|Driver stacktrace:|Caused by: [^\n]*|[ \t]+at \S+\([^\n]*|[ \t]+\.\.\. \d+ more))+"
)
_NO_STATE: Final = "CANNOT_LOAD_STATE_STORE"

RESTORE: Final = (
    "put back the checkpoint from a copy, and its sinks as they were then; or start with a new checkpoint and empty\n"
    "  sinks: all results are computed again, from the rows that the source still has"
)
"""The advice for a damaged checkpoint."""

_ADVICE: Final = {
    re.compile("No space left on device"): (
        "the disk of the checkpoint, of an output or of Spark's own files (spark.local.dir) is full\n"
        "  nothing is lost: make room, and start the query with the same checkpoint"
    ),
    re.compile("terminated due to idle timeout"): (
        "Spark ended a worker that had sent nothing for so long, as spark.python.worker.killOnIdleTimeout has it\n"
        "  nothing is lost: mend the module, or allow more time, and start the query with the same checkpoint"
    ),
    re.compile("connect back"): (
        "the machine is too busy: Spark waits ten seconds for the Python process that asks a query for its state\n"
        "  nothing is lost: start the query with the same checkpoint"
    ),
    re.compile(
        rf"{_NO_STATE}|doesn't exist \(latestId|"
        r"^(?:batch \d+ doesn't exist|Incomplete log file|Unexpected end-of-input|Input length = 1$|assertion failed)",
        re.MULTILINE,
    ): (
        "this is about a file of the checkpoint, which is damaged or gone: query.check(checkpoint) looks for it\n"
        f"  {RESTORE}"
    ),
}
"""Advice for Spark's messages about a machine or a checkpoint, by a pattern that finds such a message."""

_CAUSED_BY: Final = re.compile(r"^Caused by: (.*)", re.MULTILINE)

_DEAD: Final = re.compile(
    r"exited unexpectedly|\(crashed\)|terminated due to idle timeout"
    r"|(?:EOFException|Connection reset|Broken pipe)[^\n]*(?:\n\s+at (?:java|sun|jdk)[^\n]*)*\n\s+at \S*\.python\."
)
"""The signs of a dead worker.

Reading a file or a server fails with the same exceptions, so these count only if Spark's code for Python raised them.
"""

_DEATH: Final = re.compile(
    r"Python worker (?:process terminated due to idle timeout \(timeout: \d+ seconds\)"
    r"|exited unexpectedly \(crashed\): (?P<fault>Fatal Python error: .*))"
)
"""Spark's message about a worker that it ended, or that had a fault of which Python has written the stack."""

_FAULT_STACK: Final = re.compile(r'^Current thread .*\n((?:  File "[^"]*", line \d+ in .*\n)+)', re.MULTILINE)
_FAULT_MACHINERY: Final = re.compile(
    r"[/\\](?:(?:site|dist)-packages[/\\](?:pyspark|py4j|muntin|muntin_engine)|src[/\\](?:muntin|muntin_engine))[/\\]"
    r"|[/\\](?:pyspark|py4j[^/\\]*)\.zip[/\\]|<frozen "
)
"""The frames of a fault's stack that are not the module's own."""

_JAVA_CLASS: Final = re.compile(r"^(?:[\w$]+\.)+[\w$]*(?:Exception|Error): ")
_FRAME: Final = re.compile(r'  File "(?P<file>[^"]*)", line .*\n(?:    .*\n)*')
_MACHINERY: Final = re.compile(
    r"[/\\](?:(?:site|dist)-packages[/\\](?:pyspark|py4j)|(?:pyspark|py4j[^/\\]*)\.zip)[/\\]"
)


def root_cause(error: BaseException) -> str:
    """Return the innermost message that explains a failure, with the Python traceback it holds.

    Frames of PySpark and Py4J are left out of the traceback, and so are the JVM's stack and the query's plan. If Muntin
    raised the error on the driver, or Spark had no part in it, its message is returned as it is.

    The module that ran last is named as well if a worker on this machine died, or if code of Muntin, Spark or a library
    failed in a worker: the module may have replaced a function of that code.

    Args:
        error: The error that `awaitTermination` or an action on a DataFrame raised, or `StreamingQuery.exception`
            returned.
    """
    if is_cut_off(error):
        return str(SessionEndedError(f"its JVM does not answer ({error})"))
    driver_error = _error_of_driver(error)
    if driver_error is not None:
        return str(driver_error)
    # The messages of all errors, the innermost one last. The JVM's stacks are looked at only for the death of a worker.
    full_messages = list(_messages(error))
    messages = [_without_jvm(message) for message in full_messages]
    # A worker that died on this machine has left a trace, which says what module it ran.
    death = last_death() if any(map(_DEAD.search, full_messages)) else ""

    # A sink failed, which Spark calls on the driver: no worker is to blame.
    sink_failures = [message for message in messages if _SINK.search(message) and _TRACEBACK in message]
    if sink_failures:
        innermost = sink_failures[-1]
        return _with_death(death, _without_machinery(innermost[innermost.find(_TRACEBACK) :]))

    explanation = _failure_explanation(full_messages, messages)
    advice = [text for sign, text in _ADVICE.items() if sign.search(explanation)]
    if advice:
        return _with_death(death, "\n  ".join([explanation, *advice]))

    # An error of one of Muntin's classes names its module already. Any other error in a worker, also of Muntin's own
    # code, may be due to a module that ran before.
    is_of_worker = any(_WORKER in message or _RUNNER.search(message) for message in full_messages)
    if is_of_worker and not death and not _MUNTIN_ERROR.search(explanation):
        module_call = last_module()
        is_named_already = module_call.split("\n")[0] in explanation
        if module_call and not is_named_already:
            explanation += f"\n  the module that ran last in a worker: {module_call}"
    return _with_death(death, explanation)


def _failure_explanation(full_messages: list[str], messages: list[str]) -> str:
    """Return the innermost message that explains a failure.

    Args:
        full_messages: The messages of the error and of its causes.
        messages: These messages without the JVM's stacks.
    """
    full_text = "\n".join(full_messages)
    python_failures = [message for message in messages if _TRACEBACK in message or _MUNTIN_ERROR.search(message)]
    death = _death_in(full_text)
    if death:
        explanation = death  # and no traceback: in messages about a death, any traceback is one of the driver
    elif python_failures:
        explanation = _part_of_worker(python_failures[-1])
    else:
        explanation = _innermost_words(messages)
    # Only the innermost cause names the file of the state that could not be loaded.
    causes = _CAUSED_BY.findall(full_text)
    if _NO_STATE in explanation and causes:
        explanation += f"\n  because of {causes[-1]}"
    return explanation


def _error_of_driver(error: BaseException) -> MuntinError | None:
    """Return the outermost error of Muntin's among an error and its causes, which the driver raised; None if none is.

    Its message needs no look at its own causes: it explains them.
    """
    cause: object = error
    while isinstance(cause, BaseException):
        if isinstance(cause, MuntinError):
            return cause
        cause = cause_of(cause)
    return None


def _death_in(text: str) -> str:
    """Return Spark's message about a worker that Spark ended, or that had a fault such as a wrong memory access.

    After a message about a fault come the lines of its stack that are of the module. The result is empty if the text
    has no such message. Of a worker that died otherwise, Spark only says that it is gone.
    """
    death = _DEATH.search(text)
    if death is None:
        return ""
    lines = [death[0]]
    stack = _FAULT_STACK.search(text, death.end()) if death["fault"] else None
    if stack is not None:
        lines += [frame for frame in stack[1].splitlines() if not _FAULT_MACHINERY.search(frame)]
    return "\n".join(lines)


def _with_death(death: str, explanation: str) -> str:
    """Put the message about the death of a worker before an explanation; empty if no worker died."""
    return f"{death}\n{explanation}" if death else explanation


def cause_first(error: BaseException) -> str:
    """Return the explanation of `root_cause` with the error's own message first, and one traceback after it.

    The outermost error has the message, with key and window. The innermost error has the traceback.

    Args:
        error: The error, as `root_cause` takes it.
    """
    explanation = root_cause(error)
    if not explanation.startswith(_TRACEBACK):
        # The message is the first text already. The class of an error of Muntin's before it is left out.
        error_class = _MUNTIN_ERROR.match(explanation)
        return explanation if error_class is None else explanation[error_class.end() :]
    # Python writes the innermost traceback first, and the message of the outermost error last.
    error_lines = list(_MUNTIN_ERROR.finditer(explanation)) or list(_LAST_LINE.finditer(explanation))
    last_error = _MUNTIN_ERROR.sub("", explanation[error_lines[-1].start() :], count=1)
    innermost_traceback = explanation.partition(_CAUSED)[0]
    return f"{last_error}\n\n{innermost_traceback}"


def names_module(error: BaseException) -> bool:
    """Return True if `root_cause` has an error that Muntin raised in a worker, unless that is one of damaged state.

    Such an error names the module that failed.
    """
    error_classes = _MUNTIN_ERROR.findall(root_cause(error))
    is_damage = any(name.endswith(f".{StateError.__name__}: ") for name in error_classes)
    return bool(error_classes) and not is_damage


def clear_error(error: PySparkException, kind: type[E], damage: StateError | None = None) -> E:
    """Return an error of a class of Spark's whose message begins with what failed; see `cause_first`.

    Args:
        error: The error that Spark raised. It becomes the cause of `damage` if that is given, and of the returned error
            if not.
        kind: The class of the returned error.
        damage: An error that names the damaged files of the checkpoint, if `error` was raised because of them.
    """
    if damage is None:
        error_with_cause_first = kind(cause_first(error))
        set_cause(error_with_cause_first, error)
        return error_with_cause_first

    words_of_spark = _innermost_words([_without_jvm(message) for message in _messages(error)])
    error_with_damage = kind(f"{damage}\n\nSpark says: {words_of_spark}")
    # `damage` stands between the two errors in the chain of causes, so that `root_cause` returns its message. An error
    # of PySpark's class has its cause in an attribute of its own, and `damage` has it where Python looks.
    damage.__cause__ = error
    set_cause(error_with_damage, damage)
    return error_with_damage


@contextmanager
def module_first() -> Iterator[None]:
    """Change the errors that Python workers raise in the block: the message of the module's error comes first."""
    try:
        yield
    except PythonException as error:
        raise clear_error(error, PythonException) from None


def is_from_spark(error: BaseException) -> bool:
    """True if an error came out of Spark, or out of the connection to it."""
    return isinstance(error, PySparkException | Py4JError)


def _messages(error: BaseException) -> Iterator[str]:
    """Yield the message of an error, then those of its causes, in Python and in the JVM, down to the innermost."""
    yield str(error)
    if isinstance(error, Py4JJavaError):
        with suppress(Py4JError, OSError):  # its JVM may have ended since
            yield from _java_messages(error.java_exception)
        return
    cause = cause_of(error)
    if isinstance(cause, BaseException):
        yield from _messages(cause)


def _java_messages(throwable: Any) -> Iterator[str]:
    """Yield the text of an exception of Java, then those of its causes."""
    while throwable is not None:
        yield str(throwable.toString())
        throwable = throwable.getCause()


def _without_jvm(message: str) -> str:
    """Return a message without the description of the query that Spark adds to its end, and without stacks of the JVM.

    Text of Python after such a stack stays.
    """
    jvm_part = _JVM_PART.search(message)
    if jvm_part is not None:
        message = message[: jvm_part.start()]
    return _JVM_STACK.sub("", message).strip()


def _part_of_worker(message: str) -> str:
    """Return the part of a message that a worker wrote: an error of Muntin's, or else a traceback.

    A traceback of the driver around that part is left out, and so are frames of PySpark and Py4J.
    """
    worker_message = message[max(message.rfind(_WORKER), 0) :]
    start = worker_message.find(_TRACEBACK)
    # The part begins with an error of Muntin's if there is no traceback, or if the error is before it: a worker writes
    # the error of a module before the module's traceback, see `worker_errors`.
    module_error = _MUNTIN_ERROR.search(worker_message)
    if module_error is not None:
        has_no_traceback = start < 0
        is_before_traceback = _WORKER in message and module_error.start() < start
        if has_no_traceback or is_before_traceback:
            start = module_error.start()
    return _without_machinery(worker_message[start:])


def _without_machinery(traceback: str) -> str:
    """Return a traceback without the frames of PySpark and Py4J."""
    return _FRAME.sub(lambda frame: "" if _MACHINERY.search(frame["file"]) else frame[0], traceback)


def _innermost_words(messages: list[str]) -> str:
    """Return the innermost message that is more than the name of a Java class; if none is, the innermost name."""
    explanations = [message for message in messages if " " in message]  # a name of a class has no space
    innermost = explanations[-1] if explanations else messages[-1]
    return _JAVA_CLASS.sub("", innermost)
