"""The kinds of changes that a projected row can make, by name and by number."""

from __future__ import annotations

from typing import Final

CHANGES: Final = (
    "insert",
    "revise",
    "retract",
    "punctuate_key",
    "punctuate_keys",
    "punctuate",
    "close",
    "clock",
    "signal",
)
"""The changes that a row can make."""

INSERT, REVISE, RETRACT, PUNCTUATE_KEY, PUNCTUATE_KEYS, PUNCTUATE, CLOSE, CLOCK, SIGNAL = range(len(CHANGES))
UNKNOWN: Final = -1
"""The kind of a row that does none of these."""
