"""``python -m kiltetl`` is the command ``kiltetl``."""

import sys

from kiltetl.pipelines.cli import main

if __name__ == "__main__":
    sys.exit(main())
