"""The attack's own modules are imported by their names, here as by ``run.py``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "cases"))
