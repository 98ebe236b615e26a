"""The kinds of values that stretches hold: components of forms, Python states, and rows."""
