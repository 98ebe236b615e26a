"""The progress of the input: observations of its sources by tasks, and watermarks that a policy derives."""

from muntin_engine.progress.several import InputsProgress
from muntin_engine.progress.tracker import Observation, ProgressTracker, SourceState, Tracked, merged

__all__ = ["InputsProgress", "Observation", "ProgressTracker", "SourceState", "Tracked", "merged"]
