"""What a query asks of tables before it runs: their columns, projections, unions and rows of punctuation."""
