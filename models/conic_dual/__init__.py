"""The dual value of the strongest conic loss in closed form: proved lower bounds of `ConicProblem`, and feasible points."""
