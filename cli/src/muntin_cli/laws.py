"""Whether the laws of modules can be listed and tried here."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

LAWS_NEED: Final = "where Hypothesis and pytest are installed: pip install 'muntin-cli[check]'"
"""The end of a sentence about laws that cannot be listed or tried."""


def has_laws() -> bool:
    """True if the libraries are installed with which laws are tried."""
    return find_spec("hypothesis") is not None and find_spec("pytest") is not None
