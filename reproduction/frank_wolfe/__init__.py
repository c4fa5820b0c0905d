"""Frandi, Ñanculef, Gasparo, Lodi, Sartori: Training support vector machines using Frank-Wolfe optimization methods."""
