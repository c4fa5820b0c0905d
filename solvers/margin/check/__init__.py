"""An independent checker of `margin-bb`'s proof logs: it shares no code with the solver (`checker`)."""
