"""Apache Flink on this machine, behind the job server of Beam that `make flink` fetches."""

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.checkout import ROOT

JARS = ROOT / ".venv" / "flink"
_OPENED = ("java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.math", "java.net", "java.nio",
           "java.text", "java.time", "java.util", "java.util.concurrent", "java.util.concurrent.atomic",
           "java.util.concurrent.locks", "sun.nio.ch", "sun.net.util")  # fmt: skip
_WAIT = 60  # seconds


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in sockets]


@contextlib.contextmanager
def job_server(folder: Path) -> Iterator[str]:
    """Start it on free ports, with Flink inside; its address. It ends with the block."""
    java = shutil.which("java")
    if java is None or not (JARS / "ready").exists():
        pytest.skip("needs Java and what `make flink` fetches")
    job, artifacts, expansion = free_ports(3)
    opened = [argument for name in _OPENED for argument in ("--add-opens", f"java.base/{name}=ALL-UNNAMED")]
    given = {"flink-master": "[local]", "job-host": "localhost", "job-port": str(job), "artifact-port": str(artifacts),
             "expansion-port": str(expansion), "artifacts-dir": str(folder / "artifacts")}  # fmt: skip
    command = [java, "-Xmx1500m", *opened, "-cp", f"{JARS}/*", "org.apache.beam.runners.flink.FlinkJobServerDriver"]
    command += [part for name, value in given.items() for part in (f"--{name}", value)]
    log = folder / "job-server.log"
    with open(log, "wb") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=stream, cwd=folder, env=os.environ)
    try:
        until = time.monotonic() + _WAIT
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("localhost", job), timeout=1):
                break
            assert process.poll() is None, log.read_text("utf-8", "replace")[-3000:]
            assert time.monotonic() < until, log.read_text("utf-8", "replace")[-3000:]
            time.sleep(0.2)
        yield f"localhost:{job}"
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        process.kill()
