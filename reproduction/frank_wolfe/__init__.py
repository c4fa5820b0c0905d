"""The Frank-Wolfe paper, reproduced. Frandi, Ñanculef, Gasparo, Lodi, Sartori: Training SVMs using Frank-Wolfe methods."""
