"""The array forms of modules, a file for each; imported when a query asks for one, since they need NumPy."""
