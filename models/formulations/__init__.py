"""One formulation a file, or a folder where it takes several."""
