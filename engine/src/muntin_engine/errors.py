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
    """The machine or the session cannot run a query; whoever set it up must act."""


class JavaNotFoundError(SetupError):
    """No Java that Spark can run on was found.

    Attributes:
        oldest: The oldest major version that would do.
        tried: One line per place that was looked at, with what was there.
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
    """Spark did not start.

    Attributes:
        java_home: The Java that was to run it.
        log: The file that holds everything the JVM said.
        reason: Spark's own words, or the end of the log where the JVM ended before it could be asked.
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
    """A session is running already, and it is not the one that was asked for.

    Attributes:
        differences: Setting by setting, the value it runs with (None where it has none) and the value asked for.
    """

    def __init__(self, differences: Mapping[str, tuple[str | None, str]]) -> None:
        self.differences = dict(differences)
        lines = "".join(f"\n  {name} is {has!r}, asked for {asked!r}" for name, (has, asked) in differences.items())
        super().__init__(
            f"a Spark session is running already, with other settings{lines}\n"
            "  these cannot change while it runs: stop it first, or ask for what it has"
        )


class SessionEndedError(SetupError):
    """The Spark session has ended: it was stopped, or the process that it ran in is gone.

    Attributes:
        reason: The sign of it.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"the Spark session has ended: {reason}\n"
            "  expected: one that was not stopped, whose JVM runs; one that was killed may have run out of memory\n"
            "  start a session, build the query again in it, and go on with the same checkpoint: nothing is lost"
        )


class ResultOverflowError(QueryError, OverflowError):
    """A module returned a value that its column cannot hold, and `spark.muntin.overflow.fail` is true."""


class StateError(MuntinError, ValueError):
    """Something cannot be stored in a query's state, or read back from it."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between a query and the one that wrote a checkpoint.

    Attributes:
        subject: The part that differs, for example `"window"` or `"module"`.
        checkpoint: The checkpoint's, in words; None if the query has one more.
        query: The query's; None if it has one less.
    """

    subject: str
    checkpoint: str | None
    query: str | None

    def __str__(self) -> str:
        if self.checkpoint is None or self.query is None:
            return f"{self.subject}: {self.query or self.checkpoint} was {'removed' if self.query is None else 'added'}"
        return f"{self.subject}: the checkpoint has {self.checkpoint}, the query has {self.query}"


class StateMismatchError(StateError):
    """A checkpoint is of another query than the one that is to go on with it.

    Attributes:
        differences: Where the two differ.
        remedies: Ways to let the query go on, besides changing it back.
        checkpoint: The checkpoint; empty where a worker found out, which does not know its path.
    """

    def __init__(self, differences: Sequence[Difference], remedies: Sequence[str] = (), checkpoint: str = "") -> None:
        self.differences = tuple(differences)
        self.remedies = tuple(remedies)
        self.checkpoint = checkpoint
        lines = [*map(str, differences), *remedies, "start the changed query with a new checkpoint, or change it back"]
        named = f"the checkpoint {checkpoint}" if checkpoint else "the checkpoint"
        super().__init__("\n  ".join([f"{named} belongs to another query", *lines]))


class ShippingError(SetupError):
    """A query's modules cannot travel to the workers.

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
    """A module's package is not installed where a worker runs, or in another version."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"a worker cannot load the query's modules: {reason}\n"
            "  install the module's package in the Python environment of the workers (PYSPARK_PYTHON) too,\n"
            "  or send it with the session: ship(spark, '...')"
        )


class SinkError(MuntinError, RuntimeError):
    """A sink failed to write a micro-batch.

    Attributes:
        output: The output that it takes: `results`, `late`, `rejected` or `progress`.
        sink: The sink.
        batch_id: The number of the micro-batch.
        reason: The sink's message; Spark's additions are in the cause.
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
    """A recording cannot be read, or not be replayed as asked."""


class NotShippableError(SetupError):
    """A package cannot be sent to the workers.

    Attributes:
        package: The name that was given.
        reason: Why not.
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

    Attributes:
        troubles: By where it is, a host and a Python there, what is wrong; where no worker answered, what Spark said.
        remedies: The remedies, one line each.
    """

    def __init__(self, troubles: Mapping[str, Sequence[str]], remedies: Sequence[str]) -> None:
        self.troubles = {place: tuple(found) for place, found in troubles.items()}
        self.remedies = tuple(remedies)
        lines = [f"  on {place}:\n{indent(chr(10).join(found), '    ')}" for place, found in self.troubles.items()]
        said = [f"  {remedy}" for remedy in self.remedies]
        super().__init__("\n".join(["the workers cannot run this query", *lines, *said]))
