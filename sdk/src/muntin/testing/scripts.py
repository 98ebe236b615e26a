"""Streams as data, for the tests of modules and engines."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from muntin.axis import EARLIEST, INFINITY
from muntin.changes import Identity, Insertion, Punctuation, Revision, fold, retraction
from muntin.drawings import Bar, Drawing
from muntin.errors import StreamError
from muntin.events import Event
from muntin.progress import ProgressPolicy, SourceProgress
from muntin.rows import RowWindows
from muntin.testing.batches import Batch, Boundary, KeyedChange, KeyPunctuation, Step, matches
from muntin.testing.reference import OutputEvent, WindowedQuery, evaluate, horizon_of
from muntin.testing.stream_history import StreamHistory
from muntin.testing.timeline import bar_of, draw_steps, row_of
from muntin.windows import WindowSpecification

_ANY: Final = object()


@dataclass(frozen=True)
class Script:
    """A stream as data: changes, punctuation and the seams between micro-batches, in order of arrival.

    Every method that adds a step returns a new script. An illegal step is refused where it is added, so that a test
    has the stream that its writer means; `allow_illegal` admits it, to test an engine with it. Times are whole numbers,
    in ticks.

    Steps: `insert`, `point`, `edge`, `revise`, `retract`, `add`, `punctuate`, `close`, `batch`, `restart`.
    Meaning: `history`, `last_watermark`, `horizon`, `run`. Input of an engine: `batches`. Text: `drawing`.

    Attributes:
        steps: The steps in order of arrival; a constructor takes any sequence.
        allow_illegal: True to admit illegal steps. They stay in the batches but not in `history`, and `illegal` lists
            them.

    Raises:
        StreamError: A change has a sync time below an earlier punctuation of its key, or still waits for another one
            when punctuation passes that; or punctuation goes back.

    Cost: each step added checks all before it; for long streams give `steps` as a whole.

    Example:
        >>> script = Script().insert("E0", 1, INFINITY, "P1").revise("E0", 10).batch().insert("E1", 4, 9, "P2")
        >>> script.history()
        {None: {('E0', 1): Event(start=1, end=10, payload='P1'), ('E1', 4): Event(start=4, end=9, payload='P2')}}
        >>> print(script.punctuate(5))
                     1
        + 'E0'       [-------->   'P1'
        ~ 'E0'       [--------)   was open
        ------- batch
        + 'E1'          [----)    'P2'
        punctuation      !        5
    """

    steps: tuple[Step, ...] = ()
    allow_illegal: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", tuple(self.steps))
        self.illegal()  # reads the steps, which checks them

    def __str__(self) -> str:
        return draw_steps(self.steps)

    def insert(self, id: Hashable, start: int, end: int, payload: object = None, *, key: Hashable = None) -> Script:
        """Add an interval event `[start, end)`; the id names it among the events of its key.

        Raises:
            StreamError: An event of that id and start is alive. To insert a second one all the same, use `add`.
        """
        if any(event.start == start for event in self._stream_history.events(key, id)):
            raise StreamError(f"an event {id!r} that starts at {start} is alive here\n{self}", id=id)
        return self.add(Insertion(id, Event(start, end, payload)), key=key)

    def point(self, id: Hashable, at: int, payload: object = None, *, key: Hashable = None) -> Script:
        """Add an event that lasts one tick."""
        return self.add(Insertion(id, Event.point(at, payload)), key=key)

    def edge(self, id: Hashable, at: int, payload: object = None, *, key: Hashable = None) -> Script:
        """Add an event without an end; revise it when the next sample says where it ends."""
        return self.add(Insertion(id, Event.edge(at, payload)), key=key)

    def revise(self, id: Hashable, new_end: int, *, key: Hashable = _ANY, start: int | None = None) -> Script:
        """Give an event a new end; key and start may be left out if only one such event is alive.

        Raises:
            StreamError: No such event is alive, or the change is illegal.
        """
        key, event = self._find(id, key, start)
        return self.add(Revision(id, event, new_end), key=key)

    def retract(self, id: Hashable, *, key: Hashable = _ANY, start: int | None = None) -> Script:
        """Delete an event; otherwise as `revise`."""
        key, event = self._find(id, key, start)
        return self.add(retraction(id, event), key=key)

    def add(self, change: Insertion[Any] | Revision[Any], *, key: Hashable = None) -> Script:
        """Add a change as it is; a revision may come before the change that makes the event which it revises.

        Raises:
            StreamError: The start of the event is not a tick; or the change is illegal, and the script does not allow
                illegal steps.
        """
        start = change.event.start
        if not isinstance(start, int):
            raise StreamError(
                f"the event {change.id!r} has the time {start!r}, which is no whole number of ticks\n"
                "  write the id first, then the time and the payload: point('a', 1, 4.5)"
            )
        return self._with_step(KeyedChange(key, change))

    def punctuate(self, time: int, *, key: Hashable = _ANY) -> Script:
        """Advance the watermark: no later change has a sync time below `time`.

        Args:
            time: The tick.
            key: The key of the watermark, or a pattern of keys: `...` for any value, a `KeyRange`, and a tuple of these
                for a composite key. By default the watermark is that of all keys.

        Example:
            >>> script = Script().point("a", 1, key=("eu", 7)).point("b", 1, key=("us", 7))
            >>> script.punctuate(10, key=("eu", ...)).watermark_of(("eu", 7))
            10
        """
        return self._with_step(Punctuation(time) if key is _ANY else KeyPunctuation(key, time))

    def close(self) -> Script:
        """Advance the watermark to the end: nothing changes any more."""
        return self.punctuate(INFINITY)

    def batch(self) -> Script:
        """End the micro-batch; two in a row make an empty one."""
        return self._with_step(Boundary.BATCH)

    def restart(self) -> Script:
        """End the micro-batch and restart the engine before the next."""
        return self._with_step(Boundary.RESTART)

    def with_progress(self, policy: ProgressPolicy) -> Script:
        """Replace the watermark of all keys by the one that a policy derives after each micro-batch.

        To the policy, the whole stream is one source, whose rows come without a reading of the clock. The end of the
        stream and punctuation of keys stay as they are.

        Raises:
            StreamError: A change is late by the policy; with `allow_illegal` it is one of the illegal steps.

        Example:
            >>> from muntin.progress import bounded_delay
            >>> script = Script().point("a", 9).batch().point("b", 12).with_progress(bounded_delay(5))
            >>> script.last_watermark()
            7
        """
        steps: list[Step] = []
        starts: list[int] = []
        rows_before = 0  # the number of rows before the current micro-batch
        watermark = EARLIEST
        for step in (*self.steps, Boundary.BATCH):  # the last micro-batch ends, too
            # At the end of a micro-batch the policy answers for all rows so far; a watermark never goes back.
            if isinstance(step, Boundary) and starts:
                latest = tuple(sorted(starts, reverse=True)[: policy.starts_kept])
                progress = SourceProgress(newest=max(starts), rows=len(starts), latest=latest, rows_before=rows_before)
                answer = policy.watermark(progress)
                if answer is not None and answer > watermark:
                    watermark = answer
                    steps.append(Punctuation(watermark))
                rows_before = len(starts)
            if isinstance(step, KeyedChange) and isinstance(step.change, Insertion):
                starts.append(step.change.event.start)
            if not isinstance(step, Punctuation):
                steps.append(step)
            elif step.time == INFINITY:
                # The end of the stream stays; the policy replaces all other punctuation of all keys.
                steps.append(step)
                watermark = INFINITY
        without_added_boundary = steps[:-1]
        return replace(self, steps=tuple(without_added_boundary))

    def batches(self) -> Iterator[Batch]:
        """Yield the micro-batches.

        A batch also ends before a change that its own punctuation forbids, so that an engine can see the offence.
        """
        draft = _BatchDraft()
        for step in self.steps:
            if draft.ends_before(step):
                yield draft.batch()
                draft = _BatchDraft(restart_before=step is Boundary.RESTART)
            draft.add(step)
        if not draft.is_empty:
            yield draft.batch()

    def changes(self) -> tuple[KeyedChange, ...]:
        """Return the changes alone, in order of arrival."""
        return tuple(step for step in self.steps if isinstance(step, KeyedChange))

    def illegal(self) -> tuple[Step, ...]:
        """Return the steps that an engine must reject as late; empty unless `allow_illegal`."""
        return tuple(self._stream_history.illegal)

    def history(self) -> dict[Hashable, Mapping[Identity, Event[Any]]]:
        """Return the canonical history table of each key: the last state of each event, by id and start."""
        return {key: fold(changes) for key, changes in self._stream_history.accepted.items()}

    def last_watermark(self) -> int:
        """Return the highest punctuation of all keys: `EARLIEST` if none came, `INFINITY` if the stream is closed."""
        return self._stream_history.watermark

    def watermark_of(self, key: Hashable) -> int:
        """Return the highest punctuation that holds for a key."""
        return self._stream_history.watermark_of(key)

    def horizon(self, specification: WindowSpecification) -> int:
        """Return the first tick past all events and all finite punctuation of the stream (see `horizon_of`)."""
        events: list[Event[Any]] = []
        for table in self.history().values():
            events += table.values()
        times: list[int] = []
        for step in self.steps:
            if isinstance(step, Punctuation | KeyPunctuation) and step.time != INFINITY:
                times.append(step.time)
        # Without finite punctuation the events alone decide, as for a closed stream.
        complete_to = max(times, default=INFINITY)
        return horizon_of(specification, events, complete_to)

    def run(self, query: WindowedQuery) -> dict[Hashable, list[OutputEvent]]:
        """Return the output of the query over the stream, by key, according to the reference evaluator.

        Only windows that no legal change can alter any more are in it. Keys without output are left out.

        Raises:
            QueryError: The query follows rows or events in order, and an event lasts longer than a tick, if only until
                it is revised.
        """
        query.check_events(step.change.event for step in self.changes())
        horizon = self.horizon(query.window)
        outputs: dict[Hashable, list[OutputEvent]] = {}
        for key, table in self.history().items():
            stream = self._until_closed(key, query.window)
            # A key that ended before the stream has a horizon of its own.
            limit = horizon if stream is self else stream.horizon(query.window)
            output = evaluate(query, table.values(), complete_to=self.watermark_of(key), horizon=limit)
            if output:
                outputs[key] = output
        return outputs

    def drawing(self, query: WindowedQuery | None = None) -> Drawing:
        """Return the stream as a drawing in order of arrival; given a query, with the rows of its output below.

        Example:
            >>> print(Script().insert("a", 1, 7).point("b", 3).drawing())
                   1
            + 'a'  [-----)   None
            + 'b'    [)      None
        """
        rows: list[Bar | str] = [row_of(step) for step in self.steps]
        if query is None:
            return Drawing(rows, "a stream in order of arrival")
        bars: list[Bar] = []
        for key, output in self.run(query).items():
            bars += [bar_of(key, row, query) for row in output]
        rows.append("")
        rows += bars or ["no window is complete: end the stream with .close(), or .punctuate() further"]
        return Drawing(rows, f"a stream, and what comes out of {query.window}")

    def _until_closed(self, key: Hashable, window: WindowSpecification) -> Script:
        """Return the stream up to the end of the micro-batch in which punctuation of keys closes a key.

        If no punctuation of keys closes it, the stream itself is returned. The row windows of a closed key end with its
        own rows, so for row windows the steps of other keys are left out, unless the whole stream has ended by then.
        """
        is_closed = False
        end = len(self.steps)
        for place, step in enumerate(self.steps):
            if isinstance(step, KeyPunctuation) and step.time == INFINITY and matches(step.key, key):
                is_closed = True
            elif is_closed and isinstance(step, Boundary):
                end = place
                break
        if not is_closed:
            return self
        steps = self.steps[:end]
        if isinstance(window, RowWindows) and Punctuation(INFINITY) not in steps:
            steps = tuple(step for step in steps if _concerns(step, key))
        return replace(self, steps=steps)

    def _with_step(self, step: Step) -> Script:
        """Return the script with one more step; raise `StreamError` if the step is illegal."""
        return replace(self, steps=(*self.steps, step))

    def _find(self, id: Hashable, key: Hashable, start: int | None) -> tuple[Hashable, Event[Any]]:
        """Return the one event of an id that is alive, with its key.

        Args:
            id: The id.
            key: The key of the event; `_ANY` if it may be any.
            start: The start of the event; None if it may be any.

        Raises:
            StreamError: There is no such event, or several.
        """
        keys = self._stream_history.keys_of(id) if key is _ANY else [key]
        if len(keys) > 1:
            raise StreamError(f"the keys {keys} all have an event {id!r}\n  to do: say which, with key=...", id=id)
        events = self._stream_history.events(keys[0], id) if keys else []
        if start is not None:
            events = [event for event in events if event.start == start]
        if not events:
            raise StreamError(f"no event {id!r} is alive here\n{self}", id=id)
        if len(events) > 1:
            starts = [event.start for event in events]
            raise StreamError(f"events {id!r} start at {starts}\n  to do: say which, with start=...", id=id)
        return keys[0], events[0]

    @cached_property
    def _stream_history(self) -> StreamHistory:
        """The history of all steps.

        Raises:
            StreamError: A step is illegal, and the script does not allow that.
        """
        history = StreamHistory(is_strict=not self.allow_illegal)
        for step in self.steps:
            history.add(step)
        return history


def _concerns(step: Step, key: Hashable) -> bool:
    """Return True if a step concerns a key: it is a step of this key or of all keys, or ends a micro-batch."""
    return not isinstance(step, KeyedChange | KeyPunctuation) or matches(step.key, key)


class _BatchDraft:
    """A micro-batch that is not complete yet."""

    def __init__(self, *, restart_before: bool = False) -> None:
        self._changes: list[KeyedChange] = []
        self._punctuation: int | None = None
        self._key_punctuation: list[KeyPunctuation] = []
        self._restart_before = restart_before

    @property
    def is_empty(self) -> bool:
        """True if an engine can do without the batch: it has no steps, and no restart comes before it."""
        has_steps = bool(self._changes or self._key_punctuation) or self._punctuation is not None
        return not has_steps and not self._restart_before

    def ends_before(self, step: Step) -> bool:
        """Return True if a step begins another micro-batch: a boundary, or a change that is late in this one."""
        if not isinstance(step, KeyedChange):
            return isinstance(step, Boundary)
        watermark = EARLIEST if self._punctuation is None else self._punctuation
        for punctuation in self._key_punctuation:
            if matches(punctuation.key, step.key):
                watermark = max(watermark, punctuation.time)
        return step.change.sync_time < watermark

    def add(self, step: Step) -> None:
        """Add a step; a boundary is no part of a batch, and adds nothing."""
        if isinstance(step, KeyedChange):
            self._changes.append(step)
        elif isinstance(step, KeyPunctuation):
            self._key_punctuation.append(step)
        elif isinstance(step, Punctuation):
            self._punctuation = step.time if self._punctuation is None else max(self._punctuation, step.time)

    def batch(self) -> Batch:
        """Return the batch, complete."""
        return Batch(
            changes=tuple(self._changes),
            punctuation=self._punctuation,
            restart_before=self._restart_before,
            of_keys=tuple(self._key_punctuation),
        )
