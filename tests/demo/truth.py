"""The demo's three answers in plain pandas, each written as its definition reads and without any Muntin code."""

import pandas as pd

HOUR = pd.Timedelta("1 hour")
HOP = pd.Timedelta("10 minutes")
REACH = pd.Timedelta("6 hours")
LATE = 60  # minutes


def airborne(flights: pd.DataFrame) -> pd.DataFrame:
    """Count the planes in the air and the miles they fly, between any two neighbouring departures or arrivals.

    A lifetime that touches such a window covers it, so its share of the window is 1 and the time-weighted average of
    the distance is the sum of the distances.

    Returns:
        `origin`, `start`, `end`, `planes`, `miles`, sorted; a window without a plane is left out.
    """
    places = flights[["origin"]]
    up = places.assign(start=flights["departure"], planes=1, miles=flights["distance"])
    down = places.assign(start=flights["arrival"], planes=-1, miles=-flights["distance"])
    changes = pd.concat([up, down]).groupby(["origin", "start"]).sum()
    windows = changes.groupby("origin").cumsum().reset_index()
    windows.insert(2, "end", windows.groupby("origin")["start"].shift(-1))
    return windows[windows["planes"] > 0].reset_index(drop=True)


def delays(flights: pd.DataFrame) -> pd.DataFrame:
    """Sum up each carrier's delays over the departures of an hour, every ten minutes of the epoch.

    Returns:
        `carrier`, `start`, `end`, `flights`, `mean_delay`, `p90_delay` (minutes, interpolated linearly), sorted; a
        window `[start, end)` without a departure is left out.
    """
    departure = flights["departure"]
    last_start = departure.dt.floor(HOP)
    # A departure is in the six windows that start at most an hour before it: a copy of its flight for each.
    copies = [flights.assign(start=(last_start - hops * HOP).astype(departure.dtype)) for hops in range(HOUR // HOP)]
    delay = pd.concat(copies).groupby(["carrier", "start"])["dep_delay"]
    answer = pd.DataFrame({"flights": delay.count(), "mean_delay": delay.mean(), "p90_delay": delay.quantile(0.9)})
    answer = answer.reset_index()
    answer.insert(2, "end", (answer["start"] + HOUR).astype(departure.dtype))
    return answer


def cascades(flights: pd.DataFrame) -> pd.DataFrame:
    """Pair the late flights of a plane: the second leaves up to six hours (closed) after the first has arrived.

    A flight without a tail number is in no pair: nothing says which plane flew it.

    Returns:
        `tailnum`, `first`, `second` (ids), `arrival` (of the first), `departure` (of the second), sorted.
    """
    late = flights[(flights["dep_delay"] > LATE) & flights["tailnum"].notna()]
    first = late[["tailnum", "id", "arrival"]].rename(columns={"id": "first"})
    second = late[["tailnum", "id", "departure"]].rename(columns={"id": "second"})
    pairs = first.merge(second, on="tailnum")
    gap = pairs["departure"] - pairs["arrival"]
    pairs = pairs[(pairs["first"] != pairs["second"]) & (gap >= pd.Timedelta(0)) & (gap <= REACH)]
    pairs = pairs.sort_values(["tailnum", "first", "second"], ignore_index=True)
    return pairs[["tailnum", "first", "second", "arrival", "departure"]]
