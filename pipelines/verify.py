"""verify: whether what was built is as its manifests say, down to the last byte, span and link."""

import sys
from collections.abc import Sequence

from kiltetl.pipelines.arguments import Parser, add_common_arguments, split_beam_options
from kiltetl.pipelines.console import RUN_FAILED, Console, plain, run_command, table
from kiltetl.pipelines.launch import use_beam_options
from kiltetl.transforms.files.paths import check_filesystem
from kiltetl.transforms.jobs.verify import Verified, verify

_EPILOG = """\
DIR is what kiltetl build, knowledge-source, tasks, anchors or annotations wrote. Held against the manifests are
the files' names, sizes, checksums, rows and columns; that each page has its paragraphs; that each anchor's text
stands where it says; that titles, anchors and provenance lead to pages that are there, by their titles; and that
spans lie inside their paragraphs. --quick looks at names, sizes, rows and columns alone.

It ends with 1 and a list where something is wrong, and with 0 where nothing is.

examples:
  kiltetl verify out
  kiltetl verify s3://bucket/out --quick -- --s3_endpoint_url=https://host
"""


def execute(folder: str, console: Console, quick: bool = False) -> Verified:
    """Hold a folder against its manifests; what was found."""
    check_filesystem(folder)
    with console.progress("verify"):
        return verify(folder, quick)


def _command(arguments: Sequence[str]) -> int:
    own, beam = split_beam_options(arguments)
    parser = Parser(__doc__ or "", _EPILOG, "kiltetl verify")
    parser.add_argument("folder", metavar="DIR", help="what was built")
    parser.add_argument("--quick", action="store_true", help="names, sizes, rows and columns alone")
    add_common_arguments(parser)
    found = parser.parse_args(own)
    use_beam_options(beam)
    console = Console(found.quiet, not found.no_color)
    if found.dry_run:
        console.say(f"would read:\n  {found.folder}")
        return 0
    verified = execute(found.folder, console, found.quick)
    for problem in verified.problems:
        print(plain(str(problem)))
    counted = [["verified", "count"], ["files", f"{verified.files:,}"], ["rows", f"{verified.rows:,}"]]
    if verified.without_checksum:
        counted.append(["files without a checksum, of an older version", f"{verified.without_checksum:,}"])
    console.say(table([*counted, ["problems", f"{len(verified.problems):,}"]]))
    return RUN_FAILED if verified.problems else 0


def main(arguments: Sequence[str] | None = None) -> int:
    return run_command(_command, arguments)


if __name__ == "__main__":
    sys.exit(main())
