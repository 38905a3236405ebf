"""A GGUF model in memory: its vocabulary, and one context that runs batches of token sequences."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, TypeVar

import numpy as np

from memcli.errors import Failure, NotReady
from memcli.index.embedding import Float32
from memcli.models.devices import Device
from memcli.models.gguf_header import GgufHeader, read_header
from memcli.models.native_library import OutputGuard, has_amx, native, recent_errors
from memcli.models.profile import ModelProfile

ShouldStop = Callable[[], bool]
T = TypeVar("T")

# Sequences longer than this are not made by memcli: 128 query tokens, a unit of
# at most 480, and what metadata a larger model has room for.
LONGEST_INPUT = 1024
# Less has no room for a query, a path and some text beside the special tokens.
LEAST_INPUT = 64
# A forward pass shorter than this is quicker to start on one thread than to
# divide, and does not suffer from busy neighbours.
SINGLE_THREAD_TOKENS = 48
MOST_SEQUENCES = 64
_ABORTED = 2


def never() -> bool:
    """The stop check of a caller with all the time in the world."""
    return False


class Aborted(Exception):
    """The stop check said so during a forward pass; the caller knows which deadline it was."""


class LoadedModel:
    """One model and one context; serves one thread at a time."""

    def __init__(
        self,
        profile: ModelProfile,
        device: Device,
        guard: OutputGuard = contextlib.nullcontext,
        should_stop: ShouldStop = never,
    ) -> None:
        """Load ``profile.file``; ``guard`` surrounds every native call that may print.

        Raises ``NotReady`` ``model_unsuitable`` where llama.cpp refuses the file,
        ``Aborted`` once ``should_stop()`` is true.
        """
        self.profile = profile
        self.device = device
        self.header = read_header(profile.file)
        _refuse_unfit(profile, self.header)
        self._guard = guard
        self._close = contextlib.ExitStack()
        self._interrupted = False
        self._stop: ShouldStop = should_stop
        # Native calls run in a thread of their own. llama.cpp asks the stop check
        # from within, and a Ctrl-C that Python delivered inside such a callback
        # would be lost; the main thread, waiting, gets it for certain.
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="llama")
        self._close.callback(self._worker.shutdown)
        try:
            with guard():
                self._in_worker(self._load)
        except BaseException:
            self.close()
            raise
        self._stop = never
        self._buffer = np.zeros(4096, dtype=np.int32)

    def _load(self) -> None:
        lib = native()
        parameters = lib.llama_model_default_params()
        parameters.n_gpu_layers = self.device.layers
        parameters.use_extra_bufts = not has_amx()
        self._progress = lib.llama_progress_callback(
            lambda _part, _data: not (self._interrupted or self._stop())
        )
        parameters.progress_callback = self._progress
        self._model = lib.llama_model_load_from_file(
            str(self.profile.file).encode("utf-8"), parameters
        )
        if not self._model and self._stop():
            raise Aborted
        if not self._model:
            raise NotReady(
                "model_unsuitable",
                f"llama.cpp cannot load {self.profile.file.name}: {recent_errors() or 'no reason'}",
                "The file may be cut short or need a newer llama-cpp-python.",
            )
        self._close.callback(lib.llama_model_free, self._model)
        self._vocabulary = lib.llama_model_get_vocab(self._model)
        self.dimension = int(lib.llama_model_n_embd(self._model))
        self.vocabulary_size = int(lib.llama_vocab_n_tokens(self._vocabulary))
        trained = int(lib.llama_model_n_ctx_train(self._model))
        limits = (self.profile.max_tokens, trained, LONGEST_INPUT)
        self.max_tokens = min(limit for limit in limits if limit > 0)
        if self.max_tokens < LEAST_INPUT:
            raise NotReady(
                "model_unsuitable",
                f"{self.profile.file.name} takes {self.max_tokens} tokens at once; "
                f"memcli needs {LEAST_INPUT}",
                "Choose a model with a longer input.",
            )
        self.outputs = (
            max(1, int(lib.llama_model_n_cls_out(self._model)))
            if self.profile.pooling == "rank"
            else self.dimension
        )
        self._make_context(lib)

    def _make_context(self, lib: Any) -> None:
        # A batch of an encoder is one micro-batch: a larger one aborts the process.
        self.batch_tokens = self.max_tokens
        parameters = lib.llama_context_default_params()
        parameters.n_ctx = parameters.n_batch = parameters.n_ubatch = self.batch_tokens
        parameters.n_seq_max = MOST_SEQUENCES
        parameters.kv_unified = True
        parameters.embeddings = True
        parameters.no_perf = True
        parameters.n_threads = parameters.n_threads_batch = self.device.threads
        parameters.pooling_type = (
            lib.LLAMA_POOLING_TYPE_RANK
            if self.profile.pooling == "rank"
            else lib.LLAMA_POOLING_TYPE_NONE
        )
        self._abort = lib.ggml_abort_callback(lambda _data: self._interrupted or self._stop())
        parameters.abort_callback = self._abort
        self._context = lib.llama_init_from_model(self._model, parameters)
        if not self._context:
            raise NotReady(
                "model_unsuitable",
                f"llama.cpp cannot run {self.profile.file.name}: {recent_errors() or 'no reason'}",
                "It may be no encoder, or need more memory than there is.",
            )
        self._close.callback(lib.llama_free, self._context)
        self._memory = lib.llama_get_memory(self._context)
        self._batch = _Batch(lib, self.batch_tokens)

    def _in_worker(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run ``function`` in the model's thread; whatever interrupts the wait stops it first."""
        running = self._worker.submit(function, *arguments)
        try:
            return running.result()
        except BaseException:
            self._interrupted = True
            wait([running])
            self._interrupted = False
            raise

    def close(self) -> None:
        """Free context and model."""
        self._close.close()

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        """Token ids of ``text``; with ``special`` off, a literal ``<s>`` in it stays text."""
        data = text.encode("utf-8", "replace")
        lib = native()
        while True:
            pointer = self._buffer.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))
            count = lib.llama_tokenize(
                self._vocabulary, data, len(data), pointer, len(self._buffer), False, special
            )
            if count >= 0:
                tokens: list[int] = self._buffer[:count].tolist()
                return tokens
            self._buffer = np.zeros(-count + 16, dtype=np.int32)

    def count_tokens(self, text: str) -> int:
        """How many tokens ``text`` alone has."""
        data = text.encode("utf-8", "replace")
        count = native().llama_tokenize(self._vocabulary, data, len(data), None, 0, False, False)
        return abs(int(count))

    @property
    def begin(self) -> list[int]:
        """The ids that open a sequence: ``<s>`` or ``[CLS]``, where the file asks for one."""
        if not native().llama_vocab_get_add_bos(self._vocabulary):
            return []
        return self._one(native().llama_vocab_bos)

    @property
    def end(self) -> list[int]:
        """The ids that close a sequence: ``</s>`` or ``[SEP]``."""
        return self._one(native().llama_vocab_sep) or self._one(native().llama_vocab_eos)

    def _one(self, lookup: Callable[[Any], int]) -> list[int]:
        token = int(lookup(self._vocabulary))
        return [token] if token >= 0 else []

    def run(self, sequences: Sequence[Sequence[int]], should_stop: ShouldStop) -> list[Float32]:
        """One forward pass over all sequences, at most ``batch_tokens`` tokens together.

        Gives float32 [tokens, D] per sequence, or [outputs] with RANK pooling:
        always copies, since the next call overwrites llama.cpp's buffer.
        Raises ``Aborted`` once ``should_stop()`` is true.
        """
        lib = native()
        count = self._batch.fill(sequences)
        if self._memory:
            lib.llama_memory_clear(self._memory, True)
        threads = 1 if count <= SINGLE_THREAD_TOKENS else self.device.threads
        lib.llama_set_n_threads(self._context, threads, threads)
        self._stop = should_stop
        with self._guard():
            status = self._in_worker(lib.llama_decode, self._context, self._batch.structure)
        self._stop = never
        if status == _ABORTED or (status and should_stop()):
            raise Aborted
        if status:
            raise Failure(
                "model_failed",
                f"llama.cpp failed on {count} tokens of {self.profile.name} (status {status})",
                "Try --gpu off; if it persists, report it with `memcli --version -v`.",
            )
        return self._outputs(lib, sequences, count)

    def _outputs(self, lib: Any, sequences: Sequence[Sequence[int]], count: int) -> list[Float32]:
        if self.profile.pooling == "rank":
            return [
                np.ctypeslib.as_array(
                    lib.llama_get_embeddings_seq(self._context, index), shape=(self.outputs,)
                ).copy()
                for index in range(len(sequences))
            ]
        matrix = np.ctypeslib.as_array(
            lib.llama_get_embeddings(self._context), shape=(count, self.dimension)
        ).copy()
        ends = np.cumsum([len(sequence) for sequence in sequences])[:-1]
        return np.split(matrix, ends)


class _Batch:
    """A ``llama_batch`` whose arrays are numpy's, so that filling one is a few copies."""

    def __init__(self, lib: Any, size: int) -> None:
        self.tokens = np.zeros(size, dtype=np.int32)
        self.positions = np.zeros(size, dtype=np.int32)
        self.sequence_counts = np.ones(size, dtype=np.int32)
        self.sequences = np.zeros(size, dtype=np.int32)
        self.wanted = np.ones(size, dtype=np.int8)
        one = ctypes.POINTER(ctypes.c_int32)
        start = self.sequences.ctypes.data
        self.rows = (one * size)(*[ctypes.cast(start + 4 * at, one) for at in range(size)])
        self.structure = lib.llama_batch(
            n_tokens=0,
            token=self.tokens.ctypes.data_as(one),
            embd=None,
            pos=self.positions.ctypes.data_as(one),
            n_seq_id=self.sequence_counts.ctypes.data_as(one),
            seq_id=ctypes.cast(self.rows, ctypes.POINTER(one)),
            logits=self.wanted.ctypes.data_as(ctypes.POINTER(ctypes.c_int8)),
        )

    def fill(self, sequences: Sequence[Sequence[int]]) -> int:
        at = 0
        for index, sequence in enumerate(sequences):
            end = at + len(sequence)
            self.tokens[at:end] = sequence
            self.positions[at:end] = np.arange(len(sequence))
            self.sequences[at:end] = index
            at = end
        self.structure.n_tokens = at
        return at


def _refuse_unfit(profile: ModelProfile, header: GgufHeader) -> None:
    name = profile.file.name
    if header.is_truncated:
        raise NotReady(
            "model_unsuitable",
            f"{name} is cut short: {header.size} bytes, at least {header.least_size} expected",
            "Download or copy the file again.",
        )
    if profile.role == "rerank" and not header.has_classification_head:
        raise NotReady(
            "model_unsuitable",
            f"{name} ({header.architecture or 'no architecture'}) cannot rerank: "
            "it has no classification head",
            "Use a GGUF converted from a reranker, or --reranker late_interaction.",
        )
    if profile.role == "embed" and header.has_classification_head:
        raise NotReady(
            "model_unsuitable",
            f"{name} is a reranker (it has a classification head), no embedder",
            "Use it with --reranker, and an embedding model with --embedder.",
        )
