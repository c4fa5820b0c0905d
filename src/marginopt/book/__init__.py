"""The open book of margins: instances of maximum-margin learning with their best points and proved bounds."""

from .entries import Entry, load_entries
from .solving import remake_entry, run_entry, submit_result
from .verification import EntryVerdict, verify_entry

__all__ = ["Entry", "EntryVerdict", "load_entries", "remake_entry", "run_entry", "submit_result", "verify_entry"]
