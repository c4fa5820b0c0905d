"""Evidence that a solver did not give, found from the data: of linear rows, and of second-order and semidefinite cones."""
