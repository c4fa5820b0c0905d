# exempt (text): a command line
"""The command line ``marginopt COMMAND``: `main.main` runs one command; the other modules have the options and the commands."""

#: Exit codes: solved or written, not solved, and a value, a file or an option that cannot be used.
SOLVED, NOT_SOLVED, WRONG_USE = 0, 1, 2
