"""Sessions on arrays: partial states with a low and a high end, fused where they touch."""
