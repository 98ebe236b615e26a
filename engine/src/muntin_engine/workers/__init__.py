"""Workers' code around modules: supervision, and traces that outlive the worker. It needs no PySpark."""
