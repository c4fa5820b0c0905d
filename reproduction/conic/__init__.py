"""The conic paper, reproduced. Cepeda, Gómez, Han: Robust support vector machines via conic optimization."""
