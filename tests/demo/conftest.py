"""What the tests of the demo share: the real flights, read once."""

import pandas as pd
import pytest

from demo.flights import flights


@pytest.fixture(scope="session")
def year() -> pd.DataFrame:
    """The flights of all 2013."""
    return flights(range(1, 13))


@pytest.fixture(scope="session")
def january() -> pd.DataFrame:
    """The flights of January."""
    return flights(range(1, 2))
