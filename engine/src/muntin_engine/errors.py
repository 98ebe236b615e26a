"""Errors of the place where a query runs; errors of queries, modules and streams are in `muntin.errors`.

* `SetupError`: for whoever set up the machine or the session.
* `SinkError`: for whoever maintains a sink.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent

from muntin import Module
from muntin.errors import MuntinError, QueryError


class SetupError(MuntinError, RuntimeError):
    """The machine or the session cannot run a query; whoever set it up must act.

    For example, the session's state store cannot hold a query's state; the message has the setting.
    """


class JavaNotFoundError(SetupError):
    """No Java that Spark can run on was found: install one, set `JAVA_HOME`, or install `muntin-engine[jre]`.

    Attributes:
        oldest: The oldest major version of Java that Spark runs on.
        tried: The places where Java was looked for, each with the thing that was found there, in words.
    """

    def __init__(self, oldest: int, tried: Sequence[str]) -> None:
        self.oldest = oldest
        self.tried = tuple(tried)
        places = "".join(f"\n  {place}" for place in tried)
        super().__init__(
            f"no Java {oldest} or newer was found{places}\n"
            f"  install Java {oldest} or newer, or let pip bring one: pip install 'muntin-engine[jre]'"
        )


class SparkStartError(SetupError):
    """Spark did not start; the message has Spark's own message and the name of the log.

    Attributes:
        java_home: The Java that was to run it.
        log: The file with all output of the JVM.
        reason: The message of Spark, or the end of the log if the JVM ended before it had one.
    """

    def __init__(self, java_home: Path, log: Path, reason: str) -> None:
        self.java_home = java_home
        self.log = log
        self.reason = reason
        super().__init__(
            f"Spark did not start with the Java in {java_home}\n{indent(reason or '(nothing in its log)', '  | ')}\n"
            f"  expected: settings, memory and a Java that Spark accepts; the whole log is {log}"
        )


class SessionConflictError(SetupError):
    """A session is running already with other settings, which cannot change while it runs.

    Stop it with `stop_session`, or call `local_session` with its settings.

    Attributes:
        differences: The settings that differ, by name: the value with which the session runs, None if it has none, and
            the value that was asked for.
    """

    def __init__(self, differences: Mapping[str, tuple[str | None, str]]) -> None:
        self.differences = dict(differences)
        lines: list[str] = []
        for name, (value, requested_value) in differences.items():
            lines.append(f"\n  {name} is {value!r}, asked for {requested_value!r}")
        super().__init__(
            f"a Spark session is running already, with other settings{''.join(lines)}\n"
            "  these cannot change while it runs: stop it first, or ask for what it has"
        )


class SessionEndedError(SetupError):
    """The Spark session has ended: it was stopped, or its JVM was killed, for example because memory ran out.

    Start a session, build the query again in it, and start it with the same checkpoint; nothing is lost.

    Attributes:
        reason: The sign by which the end was noticed, in words.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"the Spark session has ended: {reason}\n"
            "  expected: one that was not stopped, whose JVM runs; one that was killed may have run out of memory\n"
            "  start a session, build the query again in it, and go on with the same checkpoint: nothing is lost"
        )


class ResultOverflowError(QueryError, OverflowError):
    """A module returned a value that its column cannot hold, and `spark.muntin.overflow.fail` is true.

    For example, a sum of more than 64 bits for a `bigint`. By default such a value is null, counted and logged. The
    message names the module, the column, the value, the key and the window; cast the column that the module reads to a
    wider type, such as `decimal(38, 0)` or `double`.
    """


class StateError(MuntinError, ValueError):
    """Something cannot be stored in a query's state, or read back from it.

    Most often a module's state holds an object that is not plain data: a time with a zone that has no name, a
    `bytearray`, a record that its own class refuses; or it is too deep or too large. The message names the module, the
    key and the window, and the law *state survives its codec* finds this in tests.

    It is also raised where a checkpoint, or a folder that its query writes to, is not as the query left it. The message
    says which of these it is, and what to restore or delete:

    - A file is damaged: the cell whose checksum is wrong is named.
    - Files of the state are gone, or in the place of others: a bucket has no state, or that of another micro-batch or
      query. `Query.check` names the files.
    - A folder of the output was deleted, or a sink is ahead of its checkpoint or behind it: one of the two was restored
      without the other.
    - The checkpoint was moved or copied by other means than `muntin checkpoint copy`, or is a copy that was cut short.

    What Spark alone writes, its logs of which input was read, has no checksum that Spark verifies. Sinks recognise the
    newest `offsets`; a bit that flips inside a path in `sources` is not found.
    """


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between a query and the one that wrote a checkpoint.

    Attributes:
        subject: The part that differs, for example `"window"` or `"module"`.
        checkpoint: The part in the query that wrote the checkpoint, in words; None if that query lacks it.
        query: The part in the query that is to go on, in words; None if this query lacks it.
    """

    subject: str
    checkpoint: str | None
    query: str | None

    def __str__(self) -> str:
        if self.query is None:
            return f"{self.subject}: {self.checkpoint} was removed"
        if self.checkpoint is None:
            return f"{self.subject}: {self.query} was added"
        return f"{self.subject}: the checkpoint has {self.checkpoint}, the query has {self.query}"


class StateMismatchError(StateError):
    """A checkpoint is of another query than the one that is to go on with it.

    Another window, key, policy or parameter, or a version of a module that is not compatible with the stored one.
    Nothing was read from the input, and no state has changed. Start the changed query with a new checkpoint, or change
    it back; the message lists what differs, and what else would help.

    Attributes:
        differences: The differences between the two queries.
        remedies: The ways to let the query go on, besides changing it back, in words.
        checkpoint: The path of the checkpoint; empty if a worker raised the error, which does not know it.
    """

    def __init__(self, differences: Sequence[Difference], remedies: Sequence[str] = (), checkpoint: str = "") -> None:
        self.differences = tuple(differences)
        self.remedies = tuple(remedies)
        self.checkpoint = checkpoint
        lines = [*map(str, differences), *remedies, "start the changed query with a new checkpoint, or change it back"]
        subject = f"the checkpoint {checkpoint}" if checkpoint else "the checkpoint"
        super().__init__("\n  ".join([f"{subject} belongs to another query", *lines]))


class ShippingError(SetupError):
    """A query's modules cannot be sent to the workers: one cannot be pickled, or all together are too large.

    Keep open files, connections and large tables out of a module's attributes.

    Attributes:
        modules: The modules of the query.
    """

    def __init__(self, reason: str, modules: Sequence[Module]) -> None:
        self.modules = tuple(modules)
        names = ", ".join(f"{module.name} {module.version}" for module in modules)
        super().__init__(
            f"{reason}\n  modules: {names}\n"
            "  keep open files, connections and large tables out of a module's attributes; load them at first use"
        )


class ModuleNotOnWorkerError(SetupError):
    """A module's package is not installed where a worker runs, or in another version.

    The worker joined after the preflight check, or was not checked. No row of that task was evaluated. Install the
    version of the driver in the Python environment of the workers, the one that `PYSPARK_PYTHON` names, or `ship` it.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"a worker cannot load the query's modules: {reason}\n"
            "  install the module's package in the Python environment of the workers (PYSPARK_PYTHON) too,\n"
            "  or send it with the session: ship(spark, '...')"
        )


class SinkError(MuntinError, RuntimeError):
    """A sink failed to write a micro-batch; the query stops, and the original exception is chained.

    Repair the sink and start the query with the same checkpoint: the micro-batch is repeated, also for the sinks that
    have it. The message includes Spark's error inside the sink, such as `No space left on device`. Where rows of a sink
    are gone, or are those of another time than the checkpoint, a `StateError` says so.

    Attributes:
        output: The output that the sink takes, as the argument of `write` names it, such as `late_rows`.
        sink: The sink.
        batch_id: The number of the micro-batch.
        reason: The message of the sink's exception, which is the cause of this error.
    """

    def __init__(self, output: str, sink: str, batch_id: int, reason: str) -> None:
        self.output = output
        self.sink = sink
        self.batch_id = batch_id
        self.reason = reason
        super().__init__(
            f"{output}={sink} failed in micro-batch {batch_id}: {reason}\n"
            "  nothing is lost: when the sink works again, start the query with the same checkpoint;\n"
            f"  micro-batch {batch_id} then comes again, to the sinks that have it too"
        )


class RecordingError(MuntinError, ValueError):
    """A recording cannot be read, or not be replayed as asked.

    The folder has no recording that a `Recorder` made, or that of another query, of a later time than the checkpoint,
    or of a format that this version does not read. Or, most often, a module of the query is not here: install its
    plugin, import it, or give it, `Recording(path, modules=[...])`.
    """


class NotShippableError(SetupError):
    """A package cannot be sent to the workers by `ship`.

    No installed package has the name, it has compiled parts, it has a top-level module such as `os.py` or `numpy/` that
    would hide one of Python or of another package, the session has it with other contents, its metadata have no valid
    `Name` or `Version`, or its archive cannot be read or is larger than 512 MB when unpacked.

    Attributes:
        package: The name of the package, as the user gave it.
        reason: The reason why it cannot be sent.
    """

    def __init__(self, package: str, reason: str, remedy: str = "") -> None:
        self.package = package
        self.reason = reason
        remedy = remedy or (
            "expected an installed package of Python files, or the path of such a wheel;\n"
            "  anything else has to be installed in the Python environment of the workers (PYSPARK_PYTHON)"
        )
        super().__init__(f"{package!r} cannot be shipped: {reason}\n  {remedy}")


class WorkerEnvironmentError(SetupError):
    """The Python environment of the workers cannot run a query.

    A package is missing, cannot be imported, or has another version than on the driver; or Python has another version,
    or does not run. The message says where, and what to do.

    Attributes:
        troubles: The faults by the place where they are: a host and a Python there. If no worker answered, the message
            of Spark.
        remedies: The remedies, one line each.
    """

    def __init__(self, troubles: Mapping[str, Sequence[str]], remedies: Sequence[str]) -> None:
        self.troubles = {place: tuple(faults) for place, faults in troubles.items()}
        self.remedies = tuple(remedies)
        lines = ["the workers cannot run this query"]
        for place, faults in self.troubles.items():
            lines.append(f"  on {place}:")
            lines.append(indent("\n".join(faults), "    "))
        lines += [f"  {remedy}" for remedy in self.remedies]
        super().__init__("\n".join(lines))
