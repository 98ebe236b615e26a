"""Workers' code beside modules: a watchdog, and traces that outlive the worker. It needs no PySpark."""
