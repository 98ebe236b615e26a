"""The sinks that take the output of a query: the contract in `sink.py`, and a file for each kind.

| file | sink |
|---|---|
| `function_sink.py` | a function of a micro-batch |
| `parquet_folder.py` | a folder of Parquet files, by way of `batch_folders.py` |
| `changelog_table.py` | a table of Parquet files that results are folded into, by way of `table_versions.py` |
| `table_sink.py` | any table that has transactions; its subclasses are the next three |
| `delta_lake_table.py`, `iceberg_table.py` | tables of lakes |
| `database_table.py` | tables of PostgreSQL and SQLite, by way of `databases.py` |
| `kafka_topic.py` | a topic of Kafka |

`sink_arguments.py` turns the arguments of `write` into sinks. `sink_registry.py` says which sink an address names, and
how to add one. `written_batch.py` recognizes a micro-batch that was written before a crash.
"""
