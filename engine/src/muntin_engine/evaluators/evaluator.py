"""The contract of an evaluator: all that the engine asks of a way to compute windows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol

from muntin_engine.core.changes import InputChange, Key, OutputChange, Progress
from muntin_engine.evaluators.batch import BucketBlob
from muntin_engine.plan.choice import Choice
from muntin_engine.plan.module_plan import ModulePlan
from muntin_engine.plan.plan import Plan
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec

if TYPE_CHECKING:
    import pyarrow as pa

    from muntin_engine.evaluators.batch import BucketBatch, Evaluated
    from muntin_engine.state.stored_bucket import HeldRow, StoredBucket
    from muntin_engine.wire.task_payload import TaskPayload


class InMemory(Protocol):
    """An evaluator around cells in memory, as a process opens it: all that is lost when the process ends.

    Attributes:
        evicted: The rows of the second output, of the last micro-batch; none where a query has no such output.
    """

    evicted: Sequence[tuple[Key, OutputChange]]

    def take(self, rows: Sequence[tuple[Key, InputChange]], arrived: Progress) -> list[tuple[Key, OutputChange]]:
        """Evaluate a micro-batch, write the state and return the changes of the output.

        Args:
            rows: The rows, in any order.
            arrived: The progress of the whole input that comes with them.
        """
        ...


class Evaluator(ABC):
    """A way to compute windows. All ways give the same results.

    The engine asks the evaluator of a query and never which one it is. An evaluator has no state of its own. The driver
    asks it while a query is planned, which needs neither NumPy nor Arrow; the workers ask it in each micro-batch.

    Attributes:
        name: What queries and checkpoints call it.
        advantage: Why it is chosen, where no cheaper one was in question.
        uses_forms: True if it computes with the columnar forms of the modules, and its state holds their components.
        takes_inputs: The numbers of inputs that a query may have.
        takes_revisions: True if events may have ids, by which they are revised.
        takes_several_windows: True if a query may have several specifications of windows.
        takes_windows: True if it runs queries with windows; otherwise it runs those without, and no others.
        lifts: True if map tasks ask it for blobs of rows, merged or as columns; otherwise buckets get changes.
        keeps_state: False if each task has the results of its rows, so that there are neither buckets nor a shuffle.
        unreported: The metrics that it cannot report.
    """

    name: ClassVar[str]
    advantage: ClassVar[str]
    uses_forms: ClassVar[bool] = False
    takes_inputs: ClassVar[range] = range(1, 2)
    takes_revisions: ClassVar[bool] = False
    takes_several_windows: ClassVar[bool] = False
    takes_windows: ClassVar[bool] = True
    lifts: ClassVar[bool] = False
    keeps_state: ClassVar[bool] = True
    unreported: ClassVar[frozenset[str]] = frozenset()

    def choose(self, plan: Plan) -> Choice | str:
        """Return the choice of it for a query; or why it cannot run that."""
        return self.why_not(plan) or Choice(self.name, self.advantage, self.uses_forms)

    def why_not(self, plan: Plan) -> str | None:
        """Return why it cannot run a query; None if it can."""
        raise AssertionError(f"{self.name} chooses by itself whether it runs {plan.window}")

    @abstractmethod
    def explain_module(self, plan: Plan, module: ModulePlan) -> str:
        """Say how it computes a module, and why so."""

    @abstractmethod
    def explain_row(self, plan: Plan) -> str:
        """Say what a row costs."""

    @abstractmethod
    def explain_state(self, plan: Plan) -> str:
        """Say what is kept between micro-batches, and its bound."""

    def explain_output(self, plan: Plan) -> tuple[str, str]:
        """Say of a query without windows when its output is complete, and how far its watermark is behind the input's.

        Of windows their kind says so, and evaluators are not asked.
        """
        raise AssertionError(f"{self.name} says nothing of the output of {plan.window}")

    def lift(self, task: TaskPayload, rows: pa.Table, side: int = 0) -> Iterator[BucketBlob]:
        """Yield the blob of each bucket that gets rows, if `lifts`.

        Args:
            task: The query.
            rows: The rows, all of one input.
            side: The place of that input among those of the query.

        Raises:
            ModuleFailedError: A module raised an exception.
        """
        raise AssertionError(f"{self.name} does not lift rows: {task.plan.inputs}, {rows.num_rows}, {side}")

    def follow(self, task: TaskPayload, rows: pa.Table) -> pa.Table:
        """Return the results of the good rows of a task, unless it `keeps_state`.

        Args:
            task: The query.
            rows: The rows.

        Raises:
            ModuleFailedError: A module raised an exception.
        """
        raise AssertionError(f"{self.name} keeps a state: {task.plan.inputs}, {rows.num_rows}")

    @abstractmethod
    def load(self) -> None:
        """Import what micro-batches need, before workers are forked: each then starts with it."""

    @abstractmethod
    def process(self, task: TaskPayload, bucket: int, cells: Cells, batch: BucketBatch) -> Evaluated:
        """Evaluate a micro-batch of a bucket and write its state.

        Args:
            task: The query.
            bucket: The id of the bucket.
            cells: Its state: `METADATA` is read before any other cell, and written in each micro-batch. It stays as
                it was if anything is raised.
            batch: What the micro-batch brings.

        Raises:
            ModuleFailedError: A module raised an exception.
            StateMismatchError: Another query wrote the state.
        """

    def held_rows(self, stored: StoredBucket) -> Iterator[HeldRow]:
        """Yield what a bucket of a checkpoint holds, part by part; its query is not at hand, and neither are modules.

        Args:
            stored: The bucket.

        Raises:
            StateError: It is damaged.
        """
        raise AssertionError(f"{self.name} keeps no state: {stored.identity}")

    @abstractmethod
    def in_memory(self, plan: Plan, cells: Cells, codec: Codec) -> InMemory:
        """Return the evaluator of a query as a new process has it, for restart tests.

        Args:
            plan: The query.
            cells: What the processes before it wrote.
            codec: Writes the state.
        """
