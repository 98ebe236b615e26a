"""What the tests of the demo share: the repository's root on the path, and the real flights, read once."""

import sys
from pathlib import Path

import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from demo.flights import flights


@pytest.fixture(scope="session")
def year() -> pd.DataFrame:
    """The flights of all 2013."""
    return flights(range(1, 13))


@pytest.fixture(scope="session")
def january() -> pd.DataFrame:
    """The flights of January."""
    return flights(range(1, 2))
