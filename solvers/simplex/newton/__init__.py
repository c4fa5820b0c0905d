"""Newton finishers on a guess of the support: exact, by conjugate gradients, and the low-rank start."""
