"""State between micro-batches: cells, their codec, the metadata, log and cache of a bucket, and which queries fit."""
