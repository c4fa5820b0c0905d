"""Forms, bounds and Farkas multipliers in rational arithmetic, which certification and checks share."""
