"""The picture of the report on the front page: the example build's, as Chromium draws it.

``python -m tools.picture`` makes ``docs/report.png`` again, 900 pixels wide: the head of the page and
the section of one dataset.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from shutil import which

from tools.readme import ROOT, build_example

PICTURE = ROOT / "docs" / "report.png"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SIZE = "900,860"
# Part of one section: the whole page is some twenty screens long. The font is as wide as most systems' own.
SHOWN = """<style>
section:not(:has(#dataset-hotpotqa)), details, dl, .pair { display: none }
body { font-family: "Liberation Sans" }
</style></head>"""


def main() -> int:
    browser = next((found for name in BROWSERS if (found := which(name))), None)
    if browser is None:
        print(f"none of {', '.join(BROWSERS)} is installed: apt install chromium", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        build_example(Path(folder, "out"))
        page = Path(folder, "out", "report.html")
        page.write_text(page.read_text("utf-8").replace("</head>", SHOWN, 1), "utf-8")
        subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
             f"--user-data-dir={folder}/profile", f"--window-size={SIZE}", f"--screenshot={PICTURE}", page.as_uri()],
            check=True, capture_output=True, timeout=120,
        )  # fmt: skip
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
