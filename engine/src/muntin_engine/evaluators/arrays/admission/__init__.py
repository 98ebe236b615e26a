"""Which rows count: insertions, and rows of events with ids."""
