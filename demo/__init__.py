"""The main task: a year of flights out of New York, delivered out of order and asked three questions."""
