"""The part of the Yahoo streaming benchmark before its windows, as a user writes it: plain Spark, for every system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.windows.views import ADS, CAMPAIGNS, TYPES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def viewed(stream: DataFrame) -> DataFrame:
    """Return the views with the campaign of their ad, as `campaign` and `at`."""
    campaigns = stream.sparkSession.range(ADS).selectExpr("id AS ad", f"id % {CAMPAIGNS} AS campaign")
    typed = stream.selectExpr("key AS ad", "at", f"{TYPES} AS type")
    return typed.where("type = 'view'").join(campaigns, "ad").select("campaign", "at")
