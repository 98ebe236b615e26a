"""The progress of the input: observations of its sources by tasks, and watermarks that a policy derives."""

from muntin_engine.progress.several import InputsProgress
from muntin_engine.progress.sources import Observation, SourceState, merged
from muntin_engine.progress.tracker import ProgressTracker, Tracked

__all__ = ["InputsProgress", "Observation", "ProgressTracker", "SourceState", "Tracked", "merged"]
