"""Clip the lifetimes of events to a window, as a module sees them."""

from __future__ import annotations

from muntin import ClipPolicy, Window
from muntin_engine.evaluators.keyed.window_extent import Extent


class Clipping:
    """The clip policy of a query.

    Example:
        >>> Clipping(ClipPolicy.FULL).lifetime(3, 20, Window(5, 10))
        (5, 10)
    """

    def __init__(self, policy: ClipPolicy, extent: Extent | None = None) -> None:
        """Prepare to clip.

        Args:
            policy: The sides on which lifetimes are clipped.
            extent: The function from windows to their extents; None if each window is its own extent.
        """
        self._policy = policy
        self._extent = extent

    def lifetime(self, start: int, end: int, window: Window) -> tuple[int, int]:
        """Return the start and the end of a member's lifetime as the module sees it.

        A member may lie wholly outside the window, if windows count events or keep them for some time after their ends.
        It is not clipped on the side of the window on which it lies.
        """
        if self._extent is not None:
            window = self._extent(window)
        clipped_start = start
        if self._policy.clips_left and end > window.start:
            clipped_start = max(start, window.start)
        clipped_end = end
        if self._policy.clips_right and start < window.end:
            clipped_end = min(end, window.end)
        return clipped_start, clipped_end
