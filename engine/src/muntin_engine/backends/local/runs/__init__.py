"""The run of a query in this process: its map tasks, the exchange, its buckets, and workers that share them."""
