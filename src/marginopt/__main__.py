"""``python -m marginopt``: the command line, where the program ``marginopt`` is not on the path."""

import sys

from .cli.main import main

sys.exit(main())
