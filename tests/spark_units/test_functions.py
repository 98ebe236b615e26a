"""A function of a plugin that fails names itself and what it was called with."""

from __future__ import annotations

from typing import Any, cast

import pandas as pd
import pytest

from muntin import function
from muntin.errors import ModuleError
from muntin_engine import functions


class Session:
    """Keeps what is registered."""

    readStream = None
    session_id = "a session of Connect"

    def __init__(self) -> None:
        self.registered: dict[str, Any] = {}

    @property
    def udf(self) -> Session:
        return self

    def register(self, name: str, registered: Any) -> None:
        self.registered[name] = registered


@function("rides.fare", version="2.1.0")
def fare(km: float, rate: float) -> float:
    return km / rate


@function("rides.fares", version="1.0.0", result=float, vectorized=True)
def fares(km: pd.Series) -> pd.Series:
    return km / km["no such row"]


def test_a_function_that_fails_says_which_it_is_and_with_what() -> None:
    session = Session()
    registered = session.registered
    assert functions(cast(Any, session), fare, fares) == ["rides_fare", "rides_fares"]
    assert registered["rides_fare"].func(6.0, 2.0) == 3.0
    with pytest.raises(ModuleError, match=r"rides.fare 2.1.0 failed: .*division by zero\n  arguments: \(6.0, 0.0\)"):
        registered["rides_fare"].func(6.0, 0.0)
    with pytest.raises(ModuleError, match=r"rides.fares 1.0.0 failed: .*no such row(?s:.*)arguments: \("):
        registered["rides_fares"].func(pd.Series([1.0]))
