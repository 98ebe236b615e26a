"""The applications of TiLT's evaluation as queries of Muntin, from end to end through Spark."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from benchmarks.question import Question
from benchmarks.systems.muntin_query import BUCKETS
from benchmarks.tilt import questions
from benchmarks.windows import Tilt
from benchmarks.windows.tilt import CHANGES, DAYS, KEPT, LONG, MINUTE, RATE, READINGS, SHORT, STEP, TURN
from muntin_engine import events

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def tilt_results(stream: DataFrame, question: Question) -> DataFrame:
    """Return the results of an application."""
    assert isinstance(question.windows, Tilt)
    asked = question.windows.application
    rows = stream.where(KEPT) if asked == "resampled" else stream
    rows = rows.selectExpr("key", "at", f"{READINGS.get(asked, 'value')} AS value")
    readings = events(rows, key="key", at="at", watermark=f"{question.delay} seconds", buckets=BUCKETS)
    results = {
        "trend": partial(questions.trend, short=f"{SHORT} seconds", long=f"{LONG} seconds"),
        "strength": partial(questions.strength, window=f"{CHANGES} seconds"),
        "normalised": partial(questions.normalised, window=f"{MINUTE} seconds"),
        "imputed": partial(questions.imputed, window=f"{MINUTE} seconds"),
        "resampled": partial(questions.resampled, step=f"{STEP} microseconds"),
        "beats": partial(questions.beats, rate=RATE),
        "vibration": partial(questions.vibration, window=f"{TURN} seconds"),
        "unusual": partial(questions.unusual, before=f"{DAYS * TURN} seconds", day=f"{TURN} seconds"),
    }[asked](readings).results()
    match asked:
        case "trend":
            return results.selectExpr("key", "lifetime.start AS start", "short - long AS value")
        case "strength":
            return results.where(f"changes = {CHANGES}").selectExpr("key", "window.end AS start", "index AS value")
        case "normalised":
            known = results.where("deviation > 0D")
            return known.selectExpr("key", "lifetime.start AS start", "(value - mean) / deviation AS value")
        case "imputed":
            filled = results.selectExpr("key", "lifetime.start AS start", "coalesce(value, mean) AS value")
            return filled.where("value IS NOT NULL")
        case "beats":
            return results.selectExpr("key", "at AS start", "energy AS value")
        case "vibration":
            figures = "posexplode(array(kurtosis, strength, crest)) AS (place, value)"
            parts = results.selectExpr("key", "window.start AS start", figures)
            return parts.selectExpr("key * 3 + place AS key", "start", "value")
        case "unusual":
            flagged = results.where("value > mean + 3 * deviation")
            return flagged.selectExpr("key", "lifetime.start AS start", "value")
    return results.selectExpr("key", "lifetime.start AS start", "value")
