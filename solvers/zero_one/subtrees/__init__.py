"""The box search in pieces: subtrees that other processes search, and a search that is kept in a file."""
