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
"""The names, as the column `change` has them. The number of a kind is its place here."""

INSERT, REVISE, RETRACT, PUNCTUATE_KEY, PUNCTUATE_KEYS, PUNCTUATE, CLOSE, CLOCK, SIGNAL = range(len(CHANGES))
"""Comparisons rely on the order: events, punctuation of keys, punctuation of all, other rows of no key."""

UNKNOWN: Final = -1
"""The kind of a row whose change has none of these names."""
