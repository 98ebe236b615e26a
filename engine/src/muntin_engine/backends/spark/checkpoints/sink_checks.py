"""Check that sinks and their checkpoint are of one time: neither was restored from a copy without the other."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from muntin_engine.errors import StateError
from muntin_engine.sinks.addresses import is_elsewhere, local_path
from muntin_engine.sinks.sink import Sink

END_OF_STREAM: Final = "the end of the stream"
"""The id of the input of the micro-batch with the last windows: Muntin runs it when it closes a stream, not Spark."""

_REMEDIES: Final = (
    "one of the two was restored from a copy: restore the other from a copy of that time too, or start with a new\n"
    "  checkpoint and empty sinks to compute all results again"
)


def input_id_of(checkpoint: str, batch_id: int) -> str:
    """Return the id of the input of a micro-batch: a hash of the file in which Spark plans what the micro-batch reads.

    Spark writes that file, with the time of planning, before it runs the micro-batch. So a micro-batch that comes again
    has the same id, and one that Spark has planned anew under the same number has another.

    Args:
        checkpoint: The path of the checkpoint.
        batch_id: The number of the micro-batch.

    Returns:
        Empty if this process does not see the file, or if Spark has not planned the micro-batch.
    """
    if is_elsewhere(checkpoint):
        return ""
    file = local_path(checkpoint) / "offsets" / str(batch_id)
    return sha256(file.read_bytes()).hexdigest()[:16] if file.exists() else ""


def check_not_ahead(name: str, sink: Sink, batch_id: int, input_id: str | None) -> None:
    """Raise if a sink has a micro-batch that its checkpoint has not committed, unless that micro-batch comes again.

    Args:
        name: The spelling of the sink in errors, such as `results=hours`.
        sink: The sink.
        batch_id: The next micro-batch of the checkpoint.
        input_id: The id of its input, see `input_id_of`; empty if it is not known. None if the micro-batch was never
            planned, so that no sink may have it.

    Raises:
        StateError: The sink has a later micro-batch, or the next one with another input.
    """
    last_written = sink.last_written
    if last_written is None:
        return  # a sink that does not know what it has, such as a function
    if last_written.number < batch_id:
        return

    # The sink has the next micro-batch, or a later one. The next one comes again if it was planned, with the input with
    # which the sink has it. An id that is not known may be the same.
    is_later = last_written.number > batch_id
    are_both_known = bool(input_id and last_written.input_id)
    has_other_input = are_both_known and input_id != last_written.input_id
    comes_again = not is_later and input_id is not None and not has_other_input
    if not comes_again:
        reason = "" if is_later else ", which read something else"
        raise StateError(
            f"{name} is ahead of the checkpoint: it has micro-batch {last_written.number}{reason}\n"
            f"  expected: micro-batches up to {batch_id - 1}, or {batch_id} as it comes again\n"
            "  if another program runs this query with the checkpoint now, stop one of the two and start again; else\n"
            f"  {_REMEDIES}"
        )


def check_not_behind(name: str, sink: Sink, last_commit: int, input_id: str, *, is_new: bool) -> None:
    """Raise if a sink lacks a micro-batch that its checkpoint has committed, or has it with another input.

    Args:
        name: The spelling of the sink in errors, such as `results=hours`.
        sink: The sink.
        last_commit: The last micro-batch that was committed.
        input_id: The id of its input according to the checkpoint, see `input_id_of`; empty if it is not known.
        is_new: True if the checkpoint does not say that its query has written to this sink. The sink may be empty then.

    Raises:
        StateError: The sink lacks a micro-batch, or has the last one with another input.
    """
    last_written = sink.last_written
    if last_written is None:
        return  # a sink that does not know what it has, such as a function
    are_both_known = bool(input_id and last_written.input_id)
    if last_written.number == last_commit and are_both_known and input_id != last_written.input_id:
        raise StateError(
            f"{name} has micro-batch {last_commit} with another input than the checkpoint says now\n"
            f"  expected: offsets/{last_commit} in the checkpoint as Spark wrote it; it goes on reading from there\n"
            "  restore that file, or the checkpoint and all sinks from copies of one time; or start with a new\n"
            "  checkpoint and empty sinks to compute all results again"
        )
    is_empty = last_written.number < 0
    is_new_and_empty = is_new and is_empty
    if last_written.number < last_commit and not is_new_and_empty:
        has = "no micro-batch" if is_empty else f"micro-batches up to {last_written.number}"
        raise StateError(
            f"{name} is behind the checkpoint: it has {has}\n"
            f"  expected: micro-batches up to {last_commit}, or none, in an empty folder\n  {_REMEDIES}"
        )
