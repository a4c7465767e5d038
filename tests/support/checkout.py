"""Where the checkout is, and the environment in which a process of its own imports it."""

import os
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
ENVIRONMENT: Final = os.environ | {"PYTHONPATH": str(ROOT)}
"""For a subprocess: this checkout's kiltetl and tests, whatever is installed and wherever the process stands."""
