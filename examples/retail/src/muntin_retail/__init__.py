"""Windows of a shop: visits, shifts, and the baskets of its tills."""
