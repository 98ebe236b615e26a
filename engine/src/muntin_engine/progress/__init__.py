"""How far the input is: what tasks observe of its sources, and what a policy makes of that."""

from muntin_engine.progress.observation import Observation, merged
from muntin_engine.progress.sources import SourceState
from muntin_engine.progress.tracker import ProgressTracker, Tracked

__all__ = ["Observation", "ProgressTracker", "SourceState", "Tracked", "merged"]
