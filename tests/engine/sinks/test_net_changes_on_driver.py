"""Net changes are added up on the driver as Spark would add them up."""

from __future__ import annotations

import pyarrow as pa
import pytest

from muntin_engine.sinks.net_changes_on_driver import net_changes_on_driver

PLACE = pa.struct([("lat", pa.float64())])


@pytest.mark.parametrize(
    ("key_type", "negative", "positive"),
    [
        (pa.float64(), -0.0, 0.0),
        (PLACE, {"lat": -0.0}, {"lat": 0.0}),
        (pa.list_(pa.float64()), [1.0, -0.0], [1.0, 0.0]),
        (PLACE, {"lat": float("nan")}, {"lat": float("nan")}),
    ],
)
def test_zeros_of_both_signs_are_one_key_and_so_are_two_nans(
    key_type: pa.DataType, negative: object, positive: object
) -> None:
    changes = pa.table(
        {
            "key": pa.array([negative, positive], key_type),
            "event_id": ["a", "a"],
            "change": ["insert", "retract"],
        }
    )
    assert net_changes_on_driver(changes, ["key", "event_id"]).num_rows == 0
