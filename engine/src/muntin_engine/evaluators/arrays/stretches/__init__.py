"""What stretches of the axis are made of: their tables, keys, values and bytes."""
