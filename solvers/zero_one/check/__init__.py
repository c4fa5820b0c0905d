"""The independent checker of proof logs of `zero-one-bb`: rational arithmetic, no code of the solver."""
