"""Lives: keys that are forgotten once they have been silent for long enough."""
