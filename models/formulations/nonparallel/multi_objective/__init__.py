"""The problem of all classes at once, NPSVC++ (8), in parts: its form, what a point is worth, what is said of it."""
