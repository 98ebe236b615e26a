"""WindowContext: what the windows of a row follow from, besides the row."""

from __future__ import annotations

from enum import StrEnum


class WindowContext(StrEnum):
    """The knowledge of other rows that tells the windows of a row (Li 2008, section 6.1.2).

    The less of it, the earlier a row can be counted and forgotten: rows of context-free windows are counted as they
    come, and where later rows matter they have to be kept.
    """

    FREE = "free"
    """Nothing: the windows follow from the row alone."""
    BACKWARD = "backward"
    """Rows before it, such as how many there were."""
    FORWARD = "forward"
    """Rows after it too."""
