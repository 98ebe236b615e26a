"""Small states take every way that large ones take."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.scenarios.small import treated


@pytest.fixture(autouse=True)
def small_states() -> Iterator[None]:
    """Have states written as changes, logs merged and written anew, from the first bytes on."""
    with treated(1):
        yield
