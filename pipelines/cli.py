"""The console script: kiltetl COMMAND …"""

import sys
from collections.abc import Callable, Sequence

from kiltetl.schemas import VERSION

_HELP = """\
usage: kiltetl COMMAND [options] [-- BEAM OPTIONS]

KILT and MKQA on any Wikipedia dump.

commands:
  build             knowledge source, tasks and report, as a configuration file says
  knowledge-source  a Wikipedia dump to tables of paragraphs, pages, titles and rejects
  tasks             one dataset's original files to its table, mapped onto a knowledge source
  export            tables in the form of the released files (KILT's JSON Lines)
  anchors           the links of a knowledge source as training data for entity linking
  annotations       passages for people to judge, and their judgements as provenance
  evaluate          predictions scored with the official figures of KILT or MKQA
  report            what was built, as one page and as data
  verify            whether what was built is as its manifests say

kiltetl COMMAND --help says more, kiltetl --version which one this is. Beam's own options, of whatever runner,
stand after a bare --.
"""


def _main_of(command: str) -> Callable[[Sequence[str]], int] | None:
    # Beam takes a second to import: only the command that is run is imported.
    if command == "build":
        from kiltetl.pipelines.build import main
    elif command == "knowledge-source":
        from kiltetl.pipelines.knowledge_source import main
    elif command == "tasks":
        from kiltetl.pipelines.tasks import main
    elif command == "export":
        from kiltetl.pipelines.export import main
    elif command == "anchors":
        from kiltetl.pipelines.anchors import main
    elif command == "annotations":
        from kiltetl.pipelines.annotations import main
    elif command == "evaluate":
        from kiltetl.pipelines.evaluate import main
    elif command == "report":
        from kiltetl.pipelines.report import main
    elif command == "verify":
        from kiltetl.pipelines.verify import main
    else:
        return None
    return main


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in ("-h", "--help", "help"):
        print(_HELP, end="")
        return 0 if given else 2
    if given[0] == "--version":
        print(f"kiltetl {VERSION}")
        return 0
    command = _main_of(given[0])
    if command is None:
        print(f"kiltetl: error: no command {given[0]!r}; see kiltetl --help", file=sys.stderr)
        return 2
    status = command(given[1:])
    if arguments is None:
        from kiltetl.pipelines.console import leave

        return leave(status)
    return status


if __name__ == "__main__":
    sys.exit(main())
