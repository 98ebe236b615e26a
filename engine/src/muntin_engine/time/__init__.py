"""The axis: windows and slices as grids of ticks, changes and lifetimes, and the progress of time. Plain Python."""
