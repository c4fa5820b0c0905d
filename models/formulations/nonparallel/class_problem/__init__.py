"""One class's problem, NPSVC++ (2), in parts: what they read of it, its programs, and what is said of it."""
