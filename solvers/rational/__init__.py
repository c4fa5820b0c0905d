"""Forms, bounds and Farkas multipliers in rational arithmetic: what judging and checks share."""
