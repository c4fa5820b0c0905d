"""What a kernel function is: its kinds, what a user gives, distances, and rules for γ. `kernels` and `families` name them."""
