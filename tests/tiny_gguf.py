"""Small GGUF files with random weights: they run through the same code as real models."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789?.,-"


def write_tiny_bert(
    path: Path,
    *,
    seed: int = 0,
    head: bool = True,
    outputs: int = 1,
    scale: float = 1.0,
    positions: int = 512,
    width: int = 32,
    layers: int = 2,
    heads: int = 2,
    architecture: str = "bert",
) -> Path:
    """A BERT of a few layers; with ``head`` a cross-encoder under RANK pooling.

    ``scale`` multiplies the head's last layer: 0 makes one that scores all alike.
    """
    random = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(str(path), architecture)
    writer.add_name("tiny")
    writer.add_context_length(positions)
    writer.add_embedding_length(width)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(width * 2)
    writer.add_head_count(heads)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    writer.add_file_type(0)
    writer.add_pooling_type(gguf.PoolingType.RANK if head else gguf.PoolingType.MEAN)
    if head and outputs > 1:
        writer.add_classifier_output_labels([f"label{at}" for at in range(outputs)])
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    kinds = [gguf.TokenType.CONTROL] * 5
    tokens += [f"\u2581{each}" for each in LETTERS] + list(LETTERS)
    kinds += [gguf.TokenType.NORMAL] * (2 * len(LETTERS))
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_type_count(2)
    writer.add_unk_token_id(1)
    writer.add_sep_token_id(3)
    writer.add_pad_token_id(0)
    writer.add_mask_token_id(4)
    writer.add_bos_token_id(2)
    writer.add_eos_token_id(3)

    def tensor(name: str, *shape: int, times: float = 0.3) -> None:
        data = random.standard_normal(shape).astype(np.float32) * np.float32(times)
        if name.endswith("norm.weight"):
            data = np.ones(shape, dtype=np.float32)
        if name.endswith("norm.bias"):
            data = np.zeros(shape, dtype=np.float32)
        writer.add_tensor(name, data)

    tensor("token_embd.weight", len(tokens), width, times=1.0)
    tensor("token_types.weight", 2, width)
    tensor("position_embd.weight", positions, width)
    tensor("token_embd_norm.weight", width)
    tensor("token_embd_norm.bias", width)
    for layer in range(layers):
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            tensor(f"blk.{layer}.{part}.weight", width, width)
            tensor(f"blk.{layer}.{part}.bias", width)
        tensor(f"blk.{layer}.attn_output_norm.weight", width)
        tensor(f"blk.{layer}.attn_output_norm.bias", width)
        tensor(f"blk.{layer}.ffn_up.weight", width * 2, width)
        tensor(f"blk.{layer}.ffn_up.bias", width * 2)
        tensor(f"blk.{layer}.ffn_down.weight", width, width * 2)
        tensor(f"blk.{layer}.ffn_down.bias", width)
        tensor(f"blk.{layer}.layer_output_norm.weight", width)
        tensor(f"blk.{layer}.layer_output_norm.bias", width)
    if head:
        tensor("cls.weight", width, width)
        tensor("cls.bias", width)
        tensor("cls.output.weight", outputs, width, times=scale)
        tensor("cls.output.bias", outputs, times=0.0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
