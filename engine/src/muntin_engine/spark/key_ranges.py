"""The columns that bound the values of keys in rows of punctuation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import types as spark_types

from muntin.errors import QueryError
from muntin_engine.spark.fields import fields_of
from muntin_engine.spark.planning import keys_of
from muntin_engine.spark.session.ended import in_session

if TYPE_CHECKING:
    from muntin_engine.api.request import ColumnLike


@in_session()
def ranges_of(
    df: DataFrame, keys: Sequence[ColumnLike], key_ranges: Mapping[str, tuple[ColumnLike | None, ColumnLike | None]]
) -> dict[str, ColumnLike]:
    """Return the columns of ranges by the names under which they travel: `low0` and `high0` for the first key.

    Args:
        df: The input.
        keys: Its keys.
        key_ranges: By the name of a key, the columns of the least value, and of the first that is too large.

    Raises:
        QueryError: There is no such key or column, or one is not of the type of the key, or that has no order.
    """
    parts = keys_of(df, keys)
    found: dict[str, ColumnLike] = {}
    places = {part.name: place for place, part in enumerate(parts)}
    for name, limits in key_ranges.items():
        if name not in places:
            raise QueryError(
                f"key_ranges bounds {name!r}, which is no key\n  the keys are {', '.join(places) or 'none'}"
            )
        place, key = places[name], parts[places[name]].dataType
        pairs = zip((f"low{place}", f"high{place}"), limits, strict=True)
        own = {column: limit for column, limit in pairs if limit is not None}
        for part in fields_of(df, own, dict.fromkeys(own, f"key_ranges of {name!r}")).values():
            if part.dataType != key or not isinstance(key, spark_types.AtomicType):
                raise QueryError(
                    f"key_ranges bounds {name!r}, which is {key.simpleString()}, by {part.name!r}, which is "
                    f"{part.dataType.simpleString()}\n"
                    "  expected: numbers, text, dates or timestamps, and columns of the type of the key: cast them"
                )
        found |= own
    return found
