# exempt (text): a command line
"""The command line."""
