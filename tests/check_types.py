"""mypy over the package under its import name: the folders, linked as kiltetl in a temporary place."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "kiltetl"
        package.mkdir()
        for name in ("schemas", "transforms", "pipelines"):
            (package / name).symlink_to(ROOT / name)
        command = [
            sys.executable, "-m", "mypy", "--namespace-packages", "--explicit-package-bases",
            "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache"), "kiltetl",
        ]  # fmt: skip
        return subprocess.run(command, cwd=folder, env=os.environ | {"MYPYPATH": folder}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
