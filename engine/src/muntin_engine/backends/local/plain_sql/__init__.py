"""Plain queries in Spark's SQL over tables in this process. `queries.translated_query` reads one."""
