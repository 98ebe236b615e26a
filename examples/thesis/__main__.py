"""`python -m examples.thesis [query ...]`: answer numbered queries of the thesis over a stream in disorder."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from examples.thesis.packets import random_packets
from examples.thesis.queries import QUESTIONS


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the first rows that answer the queries; no Spark is needed."""
    parser = argparse.ArgumentParser(prog="python -m examples.thesis", description=__doc__)
    parser.add_argument("queries", nargs="*", help="numbers of queries, such as 5-1; without them, all")
    parser.add_argument("--seed", type=int, default=0, help="another number is another stream")
    parser.add_argument("--rows", type=int, default=3, help="how many rows of each answer are printed")
    chosen = parser.parse_args(arguments)
    unknown = [number for number in chosen.queries if number not in QUESTIONS]
    if unknown:
        parser.error(f"there is no query {unknown[0]} here; there are {', '.join(QUESTIONS)}")

    packets = random_packets(chosen.seed)
    for number in chosen.queries or QUESTIONS:
        question = QUESTIONS[number]
        print(f"Query {number}: {question.asks}")
        rows = question.run(packets, chosen.seed)
        for key, row in rows[: chosen.rows]:
            source = "" if key is None else f"{key}: "
            print(f"  {source}{row.window} {row.value}")
        print(f"  {len(rows)} rows")


if __name__ == "__main__":
    main()
