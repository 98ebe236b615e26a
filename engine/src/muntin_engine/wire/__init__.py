"""The query as one payload, and rows as Arrow blobs: they travel between the driver, the tasks and the buckets."""
