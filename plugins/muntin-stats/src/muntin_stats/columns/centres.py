"""Means that keep their digits however far from zero they lie.

The mean of a group is held as two floats: an *anchor*, which is the smallest of the group's payloads, and the mean's
*offset* from it. Distances between payloads round to fractions of themselves, so results that are computed from offsets
are as precise as if the window's payloads lay around zero, whatever the payloads of other windows.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from muntin_stats.columns.arrays import Array, Floats

_LOW: Final = 2**10 - 1
"""The bits of a number of 63 bits and a sign that a float does not hold beside the upper 53."""


def anchored(numbers: Array) -> tuple[Floats, Floats]:
    """Return each number as an anchor and an offset. A float is its own anchor.

    A whole number, which a float may not hold, is cut in two: its upper bits are the anchor, its lower bits the offset.

    Example:
        >>> anchors, offsets = anchored(np.array([2**62 + 1]))
        >>> anchors.tolist(), offsets.tolist()
        ([4.611686018427388e+18], [1.0])
    """
    if numbers.dtype.kind == "i":
        return (numbers & ~_LOW).astype(float), (numbers & _LOW).astype(float)
    return numbers.astype(float, copy=False), np.broadcast_to(0.0, len(numbers))


def distance(first: Floats, second: Floats) -> Floats:
    """Return the difference of two means: the second minus the first.

    Args:
        first: Means of the first groups: anchors and offsets along the last axis.
        second: Means of the second groups.

    Example:
        >>> float(distance(np.array([1e16, 0.0]), np.array([1e16, 0.5])))
        0.5
    """
    apart: Floats = (second[..., 0] - first[..., 0]) + (second[..., 1] - first[..., 1])
    return apart


def merged_centres(first: Floats, second: Floats, apart: Floats, share: Floats) -> Floats:
    """Return the means of pairs of groups, each pair taken together.

    Args:
        first: Means of the first groups: anchors and offsets along the last axis; zeros for an empty group.
        second: Means of the second groups.
        apart: Distance of both means.
        share: Share of the second group in the payloads of both, from 0 to 1; 1 where the first group is empty.
    """
    first_anchor = first[..., 0]
    first_offset = first[..., 1]
    # The smaller anchor stays; a group without payloads has none, and its zero must not win.
    anchor = np.minimum(first_anchor, np.where(share > 0, second[..., 0], first_anchor))
    offset = (first_anchor - anchor) + first_offset + apart * share
    merged = np.stack([anchor, offset], axis=-1)
    # Where the first group is empty, the second is the whole.
    return np.where((share < 1)[..., np.newaxis], merged, second)


def shares(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return the share of the second group, and the weight of the distance between two means in sums of squares.

    Args:
        first: Numbers of payloads in the first groups.
        second: Numbers of payloads in the second groups.

    Example:
        >>> [float(value) for value in shares(np.array(2.0), np.array(2.0))]
        [0.5, 1.0]
    """
    share = second / np.maximum(first + second, 1)  # 0 where both groups are empty
    return share, first * share  # the weight is first * second / (first + second)
