"""Two versions of a module over the rows of one recording: their results, compared, and what each of them costs."""
