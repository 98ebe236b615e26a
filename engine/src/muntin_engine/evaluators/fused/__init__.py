"""Sessions: partial states with a low and a high end, fused where they touch; of components, or Python states."""
