"""The numbers that streaming queries report: read, kept and shown."""

from muntin_engine.monitoring.history import History
from muntin_engine.monitoring.numbers_of_a_batch import BatchNumbers
from muntin_engine.monitoring.reading import batch_numbers
from muntin_engine.monitoring.watching import monitor

__all__ = ["BatchNumbers", "History", "batch_numbers", "monitor"]
