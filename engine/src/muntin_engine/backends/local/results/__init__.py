"""The output of a query over tables: as tables, as events of another query, and added up."""
