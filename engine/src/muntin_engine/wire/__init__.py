"""What travels between the driver, the tasks and the buckets: the query as one payload, and rows as Arrow blobs."""
