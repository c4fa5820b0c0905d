# exempt (text): a command line
"""The command line ``marginopt COMMAND``: `main.main` runs one command; the other modules have the options and the commands."""

#: Exit codes of the program: the problem is solved or the file written; it is not solved; an argument cannot be used.
SOLVED, NOT_SOLVED, WRONG_USE = 0, 1, 2
