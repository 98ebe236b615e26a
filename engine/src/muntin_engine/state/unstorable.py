"""Find the state, or result, that cannot be stored, and its module."""

from __future__ import annotations

from collections.abc import Sequence

from muntin import Module
from muntin.errors.safe_text import safe_repr
from muntin_engine.errors import StateError
from muntin_engine.state.codec import Codec


def find_unstorable(values: Sequence[object], codec: Codec) -> tuple[int, StateError] | None:
    """Return the place of the first value that a codec cannot store, and the error; None if it can store all values."""
    for place, value in enumerate(values):
        try:
            codec.pack([value])
        except StateError as error:
            return place, error
    return None


def unstorable(module: Module, kind: str, key: object, window: str, reason: StateError) -> StateError:
    """Return the error that names the module, the key and the window of a value that cannot be stored.

    Args:
        module: The module.
        kind: The kind of the value, such as `"a state"`.
        key: The key of the window.
        window: The window, in words.
        reason: The error of the codec.
    """
    # The key and the window come between what is wrong and what to do about it.
    fact, *advice = str(reason).splitlines()
    first_line = f"{module.name} {module.version} made {kind} that cannot be stored: {fact}"
    return StateError("\n".join([first_line, f"  key: {safe_repr(key)}", f"  window: {window}", *advice]))
