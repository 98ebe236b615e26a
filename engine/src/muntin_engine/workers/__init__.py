"""What a worker does beside a module that runs: a watchdog, and traces that outlive the worker. It needs no PySpark."""
