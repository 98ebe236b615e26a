"""The machine over arrays: batches of stretches, the windows they are made into, and the state of a bucket."""
