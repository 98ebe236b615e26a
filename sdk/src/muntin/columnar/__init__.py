"""Arrays for columnar aggregates. Needs NumPy; `import muntin` alone does not import it."""

from muntin.columnar.merging import fold_rows, identities, merge, merger
from muntin.columnar.payloads import payload_arrays
from muntin.columnar.ragged import Ragged

__all__ = ["Ragged", "fold_rows", "identities", "merge", "merger", "payload_arrays"]
