"""The mathematical program: labelled standard form, cones, bridges, differences, the Lagrangian."""
