"""The checkpoint of a streaming query: to whom it belongs, and the state in it."""
