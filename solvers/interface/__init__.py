"""What a solver is: backends, algorithms, and the driver that runs them."""
