"""The decoded state of a bucket."""
