"""The evaluators that take events one by one: in order, from a delay buffer, or as they come if nothing is kept."""
