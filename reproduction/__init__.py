# exempt (text): printed tables, and files of results
"""Reproduction of the papers: published tables and figures beside the same numbers measured here, by one command.

Each paper has a folder. Its modules list their tables in ``TABLES`` and their figures in ``FIGURES``, where `record` finds them.
``marginopt reproduce`` lists and runs them. A store keeps every finished run, as that of the gap report does: a run that is
killed loses only the cells in progress.
"""
