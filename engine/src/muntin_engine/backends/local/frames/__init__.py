"""Tables of any library as a query reads them: their kinds, their columns, and rows that are computed when read."""
