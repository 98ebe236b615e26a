"""Rows that are read by a thread, so that Ctrl-C reaches the thread that waits for them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Final

import pyarrow as pa

_POLL_SECONDS: Final = 0.1
"""The time after which a wait is interrupted: on Windows, Ctrl-C is noticed only then."""

_JOIN_SECONDS: Final = 10.0
"""The longest wait for a thread that was interrupted: DuckDB looks once a chunk of rows, on a busy machine seldom.

One that does not end is left behind. If it still computes when the process ends, the C library aborts the process.
"""


class RowReader:
    """Reads batches in a thread, two ahead of whoever takes them."""

    def __init__(self, batches: Iterator[pa.RecordBatch], interrupt: Callable[[int], None]) -> None:
        """Prepare the thread, which starts with the first batch that is asked for.

        Args:
            batches: The batches, which are computed as they are taken.
            interrupt: A function that gets the id of a thread, and interrupts what DuckDB computes in it.
        """
        self._batches = batches
        self._interrupt = interrupt
        # One batch waits here while the thread computes the next one. An error, or None for the end, comes last.
        self._read: Queue[pa.RecordBatch | BaseException | None] = Queue(1)
        self._is_stopped = Event()
        self._thread = Thread(target=self._run, name="muntin-reader", daemon=True)

    def batches(self) -> Generator[pa.RecordBatch]:
        """Yield the batches that the thread reads; a caller that stops early, or Ctrl-C, interrupts the thread.

        Raises:
            Exception: The computation of a batch failed.
        """
        self._thread.start()
        try:
            while True:
                batch = self._next()
                if batch is None:
                    return
                if isinstance(batch, BaseException):
                    raise batch
                yield batch
        finally:
            self._stop()

    def _next(self) -> pa.RecordBatch | BaseException | None:
        """Wait for what the thread hands over next: a batch, an error, or None for the end."""
        while True:
            try:
                return self._read.get(timeout=_POLL_SECONDS)
            except Empty:
                continue  # a wait without a timeout would not see Ctrl-C on Windows

    def _stop(self) -> None:
        """End the thread: interrupt its computation if it still runs, and wait for it."""
        self._is_stopped.set()
        thread_id = self._thread.ident
        if thread_id is not None and self._thread.is_alive():
            self._interrupt(thread_id)
            self._thread.join(_JOIN_SECONDS)

    def _run(self) -> None:
        """Compute batch after batch in the thread, and hand each over; then hand over the error or the end."""
        try:
            for batch in self._batches:
                self._hand_over(batch)
                if self._is_stopped.is_set():
                    return
        except BaseException as error:  # it is raised in the thread that takes the batches
            self._hand_over(error)
        else:
            self._hand_over(None)

    def _hand_over(self, batch: pa.RecordBatch | BaseException | None) -> None:
        """Put a batch, an error or the end into the queue; wait for a place in it unless the reader was stopped."""
        while not self._is_stopped.is_set():
            try:
                self._read.put(batch, timeout=_POLL_SECONDS)
            except Full:
                continue
            return
