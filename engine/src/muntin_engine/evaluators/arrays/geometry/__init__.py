"""How stretches become windows: on grids, as sessions, as snapshots."""
