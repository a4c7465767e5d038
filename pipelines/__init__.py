"""The graphs and the command line."""

import logging

# Beam warns on import of clients that are not installed; a command names what it needs itself.
logging.getLogger().setLevel(logging.ERROR)
