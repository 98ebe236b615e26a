"""Sinks and their checkpoint are of one time: neither was restored from a copy without the other, or damaged."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from muntin_engine.errors import StateError
from muntin_engine.sinks import Sink
from muntin_engine.sinks.addresses import is_elsewhere, local_path

AT_THE_END: Final = "the end of the stream"
"""The name of the input of the micro-batch with the last windows, in which Spark has no part."""

_REMEDIES: Final = (
    "one of the two was restored from a copy: restore the other from a copy of that time too, or start with a new\n"
    "  checkpoint and empty sinks to compute all results again"
)


def read_of(checkpoint: str, batch_id: int) -> str:
    """Return a name of what Spark planned to read in a micro-batch; empty if this process cannot see that.

    Spark writes down what it reads before it runs a micro-batch, and with it when it planned that.
    """
    if is_elsewhere(checkpoint):
        return ""
    file = local_path(checkpoint) / "offsets" / str(batch_id)
    return sha256(file.read_bytes()).hexdigest()[:16] if file.exists() else ""


def check_not_ahead(name: str, sink: Sink, batch_id: int, read: str | None) -> None:
    """Raise if a sink has what its checkpoint has not done.

    Args:
        name: What a query writer calls the sink.
        sink: The sink.
        batch_id: The next micro-batch.
        read: The name of what that reads; empty if it is not known. None if it was never planned, so that no sink may
            have it.

    Raises:
        StateError: It has a later micro-batch, or that one with other input.
    """
    last = sink.last_written
    if last is None or last.number < batch_id:
        return
    comes_again = read is not None and (read == last.read or not (read and last.read))
    if last.number > batch_id or not comes_again:
        other = "" if last.number > batch_id else ", which read something else"
        raise StateError(
            f"{name} is ahead of the checkpoint: it has micro-batch {last.number}{other}\n"
            f"  expected: micro-batches up to {batch_id - 1}, or {batch_id} as it comes again\n"
            "  if another program runs this query with the checkpoint now, stop one of the two and start again; else\n"
            f"  {_REMEDIES}"
        )


def check_not_behind(name: str, sink: Sink, last_commit: int, read: str, *, is_new: bool) -> None:
    """Raise if a sink lacks what its checkpoint has done, or has it of other input.

    Args:
        name: What a query writer calls the sink.
        sink: The sink.
        last_commit: The last micro-batch that the checkpoint has done.
        read: The name of what that read, as the checkpoint says now; empty if it is not known.
        is_new: True if nothing is known to have been written to it; then it may be empty.

    Raises:
        StateError: It does.
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
