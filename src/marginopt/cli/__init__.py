# exempt (text): a command line
"""The command line ``marginopt COMMAND``: `main.main` runs one command; the other modules have the options and the commands."""

#: Exit codes of the program. 0: the problem is solved, the file written or the claim verified. 1: it is not, or another error.
#: 2: an argument cannot be used, or a package, a licence or an extension is missing.
SOLVED, NOT_SOLVED, WRONG_USE = 0, 1, 2
