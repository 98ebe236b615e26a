"""Arrays for columnar aggregates. Needs NumPy; `import muntin` alone does not import it."""

from muntin.columnar import needed  # noqa: F401 - first, for the error that it raises
from muntin.columnar.merging import fold_rows, identities, inverter, merge, merger
from muntin.columnar.payloads import payload_arrays
from muntin.columnar.ragged import Ragged
from muntin.columnar.sums import Sums

__all__ = ["Ragged", "Sums", "fold_rows", "identities", "inverter", "merge", "merger", "payload_arrays"]
