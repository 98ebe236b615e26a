"""The contract of emission strategies, which decide when the general evaluator emits a window."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from muntin import Window
from muntin_engine.core.changes import OutputChange, Progress
from muntin_engine.evaluators.general.affected import Affected
from muntin_engine.evaluators.general.key_state import KeyState


class Emission(ABC):
    """Emits the windows of a key in a micro-batch, after its changes are applied to the indexes.

    The caller then drops the state of closed windows.

    Attributes:
        follows_windows: True if it keeps an entry for each window that was emitted or has a trigger. It then gets the
            windows that a micro-batch affects.
        is_signalled: True if every key has work, whatever its timer says, because of a signal.
        windows_closed: The number of windows with members that it emitted as final and keeps no entry of.
    """

    follows_windows: ClassVar[bool] = True
    is_signalled: bool = False
    windows_closed: int = 0

    @abstractmethod
    def emit(
        self, key: object, state: KeyState, affected: dict[Window, Affected], before: Progress, now: Progress
    ) -> list[OutputChange]:
        """Return the net change of a key's output.

        Args:
            key: The key.
            state: Its state, with the micro-batch applied.
            affected: The windows that the micro-batch affects, and those that become visible; empty unless it
                follows windows.
            before: The progress before the micro-batch, with the key's own watermark.
            now: The progress after the micro-batch, likewise.
        """
