"""Sequential minimal optimisation on the simplex and in a box with an equality."""
