"""Fixtures that make the engine's limits small, so that small states take each way of large ones."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.scenarios.small import with_small_limits


@pytest.fixture(autouse=True)
def small_states(request: pytest.FixtureRequest) -> Iterator[None]:
    """Use small limits in the scenarios of odd seeds."""
    seed = request.node.callspec.params.get("seed", 0) if hasattr(request.node, "callspec") else 0
    with with_small_limits(seed):
        yield


@pytest.fixture
def all_states_small() -> Iterator[None]:
    """Use small limits: states are written as changes, and logs are merged and rewritten, from the first bytes on."""
    with with_small_limits(1):
        yield
