"""Arrays for columnar aggregates. This package needs NumPy; `import muntin` alone does not import it."""

from muntin.columnar.arrays import Array
from muntin.columnar.merging import fold_rows, identities, inverter, merge, merger
from muntin.columnar.payloads import payload_arrays
from muntin.columnar.results import Ragged

__all__ = ["Array", "Ragged", "fold_rows", "identities", "inverter", "merge", "merger", "payload_arrays"]
