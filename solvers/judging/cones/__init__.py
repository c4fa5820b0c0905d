"""Evidence about forms with second-order and semidefinite cones that a solver did not give, by projections."""
