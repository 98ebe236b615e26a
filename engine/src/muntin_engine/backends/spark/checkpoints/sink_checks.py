"""Check that sinks and their checkpoint are of one time: neither was restored from a copy without the other."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from muntin_engine.errors import StateError
from muntin_engine.sinks.addresses import is_elsewhere, local_path
from muntin_engine.sinks.sink import Sink

AT_THE_END: Final = "the end of the stream"
"""The name of the input of the micro-batch with the last windows, in which Spark has no part."""

_REMEDIES: Final = (
    "one of the two was restored from a copy: restore the other from a copy of that time too, or start with a new\n"
    "  checkpoint and empty sinks to compute all results again"
)


def read_of(checkpoint: str, batch_id: int) -> str:
    """Return a name for the input of a micro-batch, which differs whenever Spark planned other input for that number.

    Empty if this process cannot see the plan. Spark writes it, with the time of planning, before it runs a micro-batch.
    """
    if is_elsewhere(checkpoint):
        return ""
    file = local_path(checkpoint) / "offsets" / str(batch_id)
    return sha256(file.read_bytes()).hexdigest()[:16] if file.exists() else ""


def check_not_ahead(name: str, sink: Sink, batch_id: int, read: str | None) -> None:
    """Raise if a sink has a micro-batch that its checkpoint has not committed, unless that one comes again.

    Args:
        name: The name that a query writer has for the sink.
        sink: The sink.
        batch_id: The next micro-batch.
        read: The name of its input, see `read_of`; empty if it is not known. None if the micro-batch was never planned,
            so that no sink may have it.

    Raises:
        StateError: The sink has a later micro-batch, or the next one with other input.
    """
    last = sink.last_written  # None of a sink that does not know what it has, such as a function
    if last is None or last.number < batch_id:
        return
    is_later = last.number > batch_id
    has_same_input = read == last.read or not read or not last.read  # an unknown input may be the same
    comes_again = not is_later and read is not None and has_same_input
    if not comes_again:
        reason = "" if is_later else ", which read something else"
        raise StateError(
            f"{name} is ahead of the checkpoint: it has micro-batch {last.number}{reason}\n"
            f"  expected: micro-batches up to {batch_id - 1}, or {batch_id} as it comes again\n"
            "  if another program runs this query with the checkpoint now, stop one of the two and start again; else\n"
            f"  {_REMEDIES}"
        )


def check_not_behind(name: str, sink: Sink, last_commit: int, read: str, *, is_new: bool) -> None:
    """Raise if a sink lacks a micro-batch that its checkpoint has committed, or has it with other input.

    Args:
        name: The name that a query writer has for the sink.
        sink: The sink.
        last_commit: The last micro-batch that was committed.
        read: The name of its input as the checkpoint has it now, see `read_of`; empty if it is not known.
        is_new: True if the checkpoint is not known to have written to the sink, which may then be empty.

    Raises:
        StateError: The sink lacks a micro-batch, or has the last one with other input.
    """
    last = sink.last_written
    if last is None:
        return
    if last.number == last_commit and read and last.read not in ("", read):
        raise StateError(
            f"{name} has micro-batch {last_commit} as it read something else than the checkpoint says now\n"
            f"  expected: offsets/{last_commit} in the checkpoint as Spark wrote it; it goes on reading from there\n"
            "  restore that file, or the checkpoint and all sinks from copies of one time; or start with a new\n"
            "  checkpoint and empty sinks to compute all results again"
        )
    if last.number < last_commit and not (is_new and last.number < 0):
        has = f"micro-batches up to {last.number}" if last.number >= 0 else "no micro-batch"
        raise StateError(
            f"{name} is behind the checkpoint: it has {has}\n"
            f"  expected: micro-batches up to {last_commit}, or none, in an empty folder\n  {_REMEDIES}"
        )
