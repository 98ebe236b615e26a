"""Components of columnar forms as the values of stretches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muntin_engine.evaluators.arrays.stretches.bound_form import BoundForm
from muntin_engine.evaluators.arrays.stretches.stretch_format import ColumnFormat
from muntin_engine.evaluators.arrays.values.row_lifting import InputRows, lift_each, lift_rows
from muntin_engine.evaluators.arrays.values.stretch_values import StretchValues
from muntin_engine.evaluators.batch import BucketBlob
from muntin_engine.time.slice_grid import SliceGrid


class FormComponents(ColumnFormat, StretchValues):
    """Components of columnar forms: they are merged as arrays, and results are computed as columns."""

    def __init__(
        self, forms: Sequence[BoundForm], grids: Sequence[SliceGrid] = (), gap: int = 1, *, with_late_rows: bool = False
    ) -> None:
        """Describe the components of a query.

        Args:
            forms: Its forms.
            grids: Its slices; none of sessions and snapshots.
            gap: The ticks that an event counts for after its last one, where stretches are ticks.
            with_late_rows: True if the rows travel with the components, as those that are late are wanted.
        """
        ColumnFormat.__init__(self, forms)
        StretchValues.__init__(self, with_late_rows=with_late_rows)
        self._grids = grids
        self._gap = gap

    def lift_into_slices(self, rows: InputRows) -> Iterator[BucketBlob]:
        """Yield the components of slices for each bucket."""
        return lift_rows(self._grids[0], self.forms, rows, with_rows=self.with_late_rows)

    def lift_each(self, rows: InputRows) -> Iterator[BucketBlob]:
        """Yield the components of each row for each bucket."""
        return lift_each(self._gap, rows, self.forms, with_rows=self.with_late_rows)
