"""How scenarios are run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.scenarios.small import treated


@pytest.fixture(autouse=True)
def small_states(request: pytest.FixtureRequest) -> Iterator[None]:
    """Have limits of the engine reached by small states in some scenarios."""
    with treated(request.node.callspec.params.get("seed", 0) if hasattr(request.node, "callspec") else 0):
        yield


@pytest.fixture
def all_states_small() -> Iterator[None]:
    """Have states written as changes, logs merged and written anew, from the first bytes on."""
    with treated(1):
        yield
