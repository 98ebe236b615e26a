"""The counts of a query over a static input: rows rejected or skipped and values too large, which it warns of."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

from muntin_engine.plan.skipped_nulls import SkippedNulls
from muntin_engine.tasks.output_blobs import ACCEPTED, REJECTED, OutputBlob
from muntin_engine.wire.overflows import ColumnOverflows, warning_of

LOG: Final = logging.getLogger("muntin.rejected")
"""The logger of the warnings of rejected rows."""

LOG_OF_SKIPPED: Final = logging.getLogger("muntin.skipped")
"""The logger of the warnings of rows that modules skipped."""

LOG_OF_OVERFLOWS: Final = logging.getLogger("muntin.overflows")
"""The logger of the warnings of results that their columns cannot hold."""


class BucketCounts(NamedTuple):
    """The rows that a bucket counts.

    Attributes:
        accepted: The number of rows that took effect.
        rejected: The numbers of rejected rows, by their reasons.
        skipped: The numbers of rows that modules skipped, by the label of the module. The first bucket counts the rows
            of all buckets.
        overflows: The values that a result column cannot hold, by column.
    """

    accepted: int
    rejected: Mapping[str, int]
    skipped: Mapping[str, int] = MappingProxyType({})
    overflows: Mapping[str, ColumnOverflows] = MappingProxyType({})

    @classmethod
    def of_output(
        cls,
        output: Iterable[OutputBlob],
        skipped: Mapping[str, int],
        overflows: Mapping[str, ColumnOverflows] = MappingProxyType({}),
    ) -> BucketCounts:
        """Count the accepted and the rejected rows in the output of a bucket.

        Args:
            output: The blobs that the bucket emits.
            skipped: The numbers of rows that modules skipped, by the label of the module.
            overflows: The values that a result column cannot hold, by column.
        """
        accepted = 0
        reasons = Counter[str]()
        for blob in output:
            if blob.stream == ACCEPTED:
                accepted += blob.rows
            elif blob.stream == REJECTED and blob.table is not None:
                for reason_count in blob.table.column("reason").value_counts().to_pylist():
                    reasons[reason_count["values"]] += reason_count["counts"]
        return cls(accepted, dict(reasons), dict(skipped), dict(overflows))


class StaticMessages(NamedTuple):
    """The warnings of a query, each of several lines; empty where there is nothing to warn of."""

    rejected: str = ""
    skipped: str = ""
    overflows: str = ""


@dataclass(slots=True)
class StaticCounts:
    """The counts of a query that may be computed, as far as its buckets were.

    Attributes:
        name: The name of the query.
        buckets: The number of its buckets; None if it has none.
        skipping: The modules to warn of if they skip rows, by label.
        counts: The counts, by bucket.
        last_messages: The warnings that were logged last.
    """

    name: str
    buckets: int | None
    skipping: Mapping[str, SkippedNulls] = field(default_factory=dict)
    counts: dict[int, BucketCounts] = field(default_factory=dict)
    last_messages: StaticMessages = field(default_factory=StaticMessages)

    @property
    def is_complete(self) -> bool:
        """True if all buckets were computed."""
        return len(self.counts) == self.buckets

    @property
    def has_news(self) -> bool:
        """True if the warnings have changed since they were logged last."""
        return self.messages() != self.last_messages

    def messages(self) -> StaticMessages:
        """Return the warnings of rejected and of skipped rows, and of overflows."""
        reasons = Counter[str]()
        skipped = Counter[str]()
        accepted = 0
        for bucket_counts in self.counts.values():
            reasons.update(bucket_counts.rejected)
            skipped.update(bucket_counts.skipped)
            accepted += bucket_counts.accepted
        rows = reasons.total() + accepted
        return StaticMessages(self._of_rejected(reasons, rows), self._of_skipped(skipped, rows), self._of_overflows())

    def warn(self) -> None:
        """Log the warnings that have changed since they were logged last."""
        messages = self.messages()
        logs = (LOG, LOG_OF_SKIPPED, LOG_OF_OVERFLOWS)  # the log of each message, in the order of `StaticMessages`
        for log, message, last_message in zip(logs, messages, self.last_messages, strict=True):
            if message and message != last_message:
                log.warning("%s", message)
        self.last_messages = messages

    def _of_rejected(self, reasons: Counter[str], rows: int) -> str:
        """Return the warning about rejected rows; empty if there are none.

        Args:
            reasons: The numbers of rejected rows, by their reasons.
            rows: The number of rows of the input, as far as buckets have counted them.
        """
        rejected = reasons.total()
        if not rejected:
            return ""
        # The most frequent reason comes first; reasons that are as frequent come in the order of their texts.
        largest_first = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
        spelled = ", ".join(f"{number:,} {reason}" for reason, number in largest_first)
        so_far = ""
        if self.buckets is not None and not self.is_complete:
            so_far = f"\n  so far: {len(self.counts)} of {self.buckets} buckets were computed"
        return (
            f"{self.name}: {rejected:,} of {rows:,} rows of the static input were rejected: {spelled}{so_far}\n"
            "  the query's rejected_rows() returns them, each with its reason"
        )

    def _of_skipped(self, skipped: Counter[str], rows: int) -> str:
        """Return the warning about rows that modules skipped, with a paragraph for each module; empty without any.

        Args:
            skipped: The numbers of skipped rows, by the label of the module.
            rows: The number of rows of the input, as far as buckets have counted them.
        """
        # The first bucket reports the rows that were skipped for all buckets. While other buckets are still to come,
        # `rows` lacks theirs, so the message does not name the total.
        of_all = f" of {rows:,}" if self.is_complete else ""
        messages: list[str] = []
        for label, nulls in self.skipping.items():
            if skipped[label]:
                messages.append(
                    f"{self.name}: {skipped[label]:,}{of_all} rows of the static input were skipped by {nulls.module}: "
                    f"{nulls.condition}\n  {nulls.remedies}"
                )
        return "\n".join(messages)

    def _of_overflows(self) -> str:
        """Return the warning about results that do not fit their columns; empty if there are none."""
        overflow_counts = Counter[str]()
        first_overflows: dict[str, ColumnOverflows] = {}
        # The buckets are taken in their order: so the first value does not depend on which of them was done first.
        for _, bucket_counts in sorted(self.counts.items()):
            for column, overflows in bucket_counts.overflows.items():
                overflow_counts[column] += overflows.number
                first_overflows.setdefault(column, overflows)
        messages: list[str] = []
        for column, overflows in sorted(first_overflows.items()):
            number = overflow_counts[column]
            messages.append(
                f"{self.name}: {number:,} values of the results are too large for their column {column!r}\n"
                f"  the first: {warning_of(overflows.first)}"
            )
        return "\n".join(messages)
