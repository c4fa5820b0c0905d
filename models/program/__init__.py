"""The mathematical program: the labelled standard form, cones, convexity proofs, reformulations, dual and Lagrangian bound."""
