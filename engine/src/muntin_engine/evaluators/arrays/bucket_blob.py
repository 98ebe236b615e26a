"""The lifted rows that the map side sends to a bucket."""

from __future__ import annotations

from typing import NamedTuple


class BucketBlob(NamedTuple):
    """The partial states for one bucket.

    Attributes:
        bucket: Its number.
        blob: They, as bytes.
    """

    bucket: int
    blob: bytes
