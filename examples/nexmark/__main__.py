"""`python -m examples.nexmark [query ...]`: answer queries of Nexmark over a small auction site."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Final

from pyspark.sql import SparkSession

from examples.nexmark.queries import QUESTIONS, tables_of
from examples.nexmark.site import random_site
from muntin_engine import local_session, stop_session

AUCTIONS: Final = 60


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the first rows that answer the queries."""
    parser = argparse.ArgumentParser(prog="python -m examples.nexmark", description=__doc__)
    parser.add_argument("queries", nargs="*", type=int, help="numbers of queries; without them, all")
    parser.add_argument("--seed", type=int, default=5, help="another number is another site")
    parser.add_argument("--rows", type=int, default=5, help="how many rows of each answer are printed")
    chosen = parser.parse_args(arguments)
    unknown = [number for number in chosen.queries if number not in QUESTIONS]
    if unknown:
        parser.error(f"there is no query {unknown[0]} here; there are {', '.join(map(str, QUESTIONS))}")

    spark = local_session()
    print_answers(spark, chosen.queries or [*QUESTIONS], chosen.seed, chosen.rows)
    stop_session(spark)


def print_answers(spark: SparkSession, queries: Sequence[int], seed: int, rows: int) -> None:
    """Print the first rows that answer some queries over one site."""
    tables = tables_of(spark, random_site(seed, AUCTIONS))
    for number in queries:
        question = QUESTIONS[number]
        print(f"Query {number}: {question.asks}")
        question.answer(tables).show(rows, truncate=False)


if __name__ == "__main__":
    main()
