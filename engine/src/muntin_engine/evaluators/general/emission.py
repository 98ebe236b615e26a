"""Emission: the contract of the strategies by which general evaluation emits windows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from muntin import Window
from muntin_engine.core.changes import OutputChange, Progress
from muntin_engine.evaluators.general.affected import Affected
from muntin_engine.evaluators.general.key_state import KeyState


class Emission(ABC):
    """Emits the windows of a key in a micro-batch, once its changes are in the indexes.

    Windows that are closed are forgotten after it.

    Attributes:
        follows_windows: True if it keeps an entry for each window that is emitted or watched. It is then told which
            windows a micro-batch affects.
        is_signalled: True if every key must be looked at, whatever its timers say.
        windows_closed: How many windows with members it has emitted for good, and of which it keeps no entry.
        evicted: What rows of the last key gave when they left, where a module makes an output of that.
    """

    follows_windows: ClassVar[bool] = True
    is_signalled: bool = False
    windows_closed: int = 0
    evicted: Sequence[OutputChange] = ()

    @abstractmethod
    def emit(
        self, key: object, state: KeyState, affected: dict[Window, Affected], before: Progress, now: Progress
    ) -> list[OutputChange]:
        """Return the net change of a key's output.

        Args:
            key: The key.
            state: Its state, which has taken the micro-batch in.
            affected: The windows that the micro-batch affects, and those that become visible; empty unless it
                follows windows.
            before: The progress before the micro-batch, as it counts for the key.
            now: The progress after it.
        """
