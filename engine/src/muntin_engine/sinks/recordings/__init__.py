"""The part of recordings that writes while a query runs; it knows nothing of their replay."""
