"""llama.cpp with nothing around it: what memcli's own speed is compared with.

Run as a script it loads a GGUF and embeds one query, which is the yardstick for
a cold ``memcli activate``.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np

MODEL = Path(__file__).parent.parent / "memcli/models/data/memcli-embed-e5-small-q4_0.gguf"


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]  # the bindings have no type for it
def _silent(_level: int, _text: bytes, _data: Any) -> None:
    pass


class BareModel:
    """One model, one context, forward passes over packed token sequences."""

    def __init__(self, path: Path, batch: int, threads: int, pooling: int) -> None:
        llama_cpp.llama_log_set(_silent, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        parameters = llama_cpp.llama_model_default_params()
        # As in memcli: ggml's AMX kernels crash on some machines.
        parameters.use_extra_bufts = b"AMX_INT8 = 1" not in llama_cpp.llama_print_system_info()
        self.model = llama_cpp.llama_model_load_from_file(str(path).encode(), parameters)
        self.vocabulary = llama_cpp.llama_model_get_vocab(self.model)
        context = llama_cpp.llama_context_default_params()
        context.n_ctx = context.n_batch = context.n_ubatch = batch
        context.n_seq_max = 64
        context.kv_unified = True
        context.embeddings = True
        context.pooling_type = pooling
        context.n_threads = context.n_threads_batch = threads
        self.context = llama_cpp.llama_init_from_model(self.model, context)
        self.dimension = llama_cpp.llama_model_n_embd(self.model)
        self.batch = llama_cpp.llama_batch_init(batch, 0, 1)

    def tokenize(self, text: str) -> list[int]:
        data = text.encode()
        buffer = (ctypes.c_int32 * (len(data) + 8))()
        count = llama_cpp.llama_tokenize(
            self.vocabulary, data, len(data), buffer, len(buffer), False, False
        )
        return list(buffer[:count])

    def run(self, sequences: Sequence[Sequence[int]]) -> None:
        at = 0
        for index, sequence in enumerate(sequences):
            for position, token in enumerate(sequence):
                self.batch.token[at] = token
                self.batch.pos[at] = position
                self.batch.n_seq_id[at] = 1
                self.batch.seq_id[at][0] = index
                self.batch.logits[at] = 1
                at += 1
        self.batch.n_tokens = at
        status = llama_cpp.llama_decode(self.context, self.batch)
        if status:
            raise RuntimeError(f"llama_decode gave {status}")

    def vectors(self, tokens: int) -> np.ndarray:
        pointer = llama_cpp.llama_get_embeddings(self.context)
        matrix: np.ndarray = np.ctypeslib.as_array(pointer, shape=(tokens, self.dimension))
        copied: np.ndarray = matrix.copy()
        return copied

    def sequence_output(self, index: int) -> float:
        return float(llama_cpp.llama_get_embeddings_seq(self.context, index)[0])


def main() -> None:
    model = BareModel(MODEL, 512, int(sys.argv[1]) if len(sys.argv) > 1 else 2, 0)
    sequence = [0, *model.tokenize("query: how do we roll back a bad deploy"), 2]
    model.run([sequence])
    print(float(model.vectors(len(sequence)).mean()))


if __name__ == "__main__":
    main()
