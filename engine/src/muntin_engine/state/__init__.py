"""State between micro-batches: cells, the codec, what a bucket knows of itself, and which queries may go on with it."""
