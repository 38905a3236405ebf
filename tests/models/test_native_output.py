"""llama.cpp's own lines reach neither stream, and nobody else's are lost (F5, F26)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tiny_gguf import write_tiny_bert

LOAD = """
from memcli.models.devices import choose_device
from memcli.models.loading import load_embedder
from memcli.models.profile import BUNDLED_EMBEDDER
embedder = load_embedder(BUNDLED_EMBEDDER, choose_device("auto", 0))
embedder.embed_query("hello")
"""

BESIDE = """
import os, sys, threading, time
from memcli.cli.environment import process_environment
from memcli.models.native_library import captured_descriptors
environment = process_environment()
stop = threading.Event()
written = 0
def talk():
    global written
    while not stop.is_set():
        environment.stdout.write(b"mine %d\\n" % written)
        written += 1
        time.sleep(0.001)
thread = threading.Thread(target=talk)
thread.start()
from memcli.models.devices import choose_device
from memcli.models.loading import load_embedder
from memcli.models.profile import BUNDLED_EMBEDDER
for _ in range(2):
    embedder = load_embedder(BUNDLED_EMBEDDER, choose_device("auto", 0), captured_descriptors)
    embedder.embed_query("hello")
    with captured_descriptors():
        os.write(1, b"native line on stdout\\n")
        os.write(2, b"native line on stderr\\n")
stop.set()
thread.join()
environment.stdout.write(b"total %d\\n" % written)
"""

FAIL = """
import sys
from memcli.models.devices import choose_device
from memcli.models.loading import load_cross_encoder
from memcli.models.profile import find_reranker
try:
    load_cross_encoder(find_reranker(sys.argv[1], {}), choose_device("auto", 0))
except Exception as error:
    print("refused", error.code)
"""


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True
    )


def test_loading_and_running_a_model_prints_nothing_at_all_not_even_at_exit() -> None:
    done = run(LOAD)
    assert done.stdout == ""
    assert done.stderr == ""


def test_other_threads_output_survives_while_native_lines_are_caught() -> None:
    done = run(BESIDE)
    lines = done.stdout.splitlines()
    total = int(lines[-1].removeprefix("total "))
    assert lines[:-1] == [f"mine {at}" for at in range(total)]
    assert total > 50
    assert "native" not in done.stdout + done.stderr


def test_a_refused_model_prints_nothing_of_llama_cpps(tmp_path: Path) -> None:
    path = write_tiny_bert(tmp_path / "odd.gguf", architecture="oddity")
    done = run(FAIL, str(path))
    assert done.stdout == "refused model_unsuitable\n"
    assert done.stderr == ""
