"""The golden pair: a model must tell a plain answer from plain nonsense before it is used."""

from __future__ import annotations

import math

import numpy as np

from memcli.errors import NotReady
from memcli.index.embedding import PassageInput
from memcli.models.cross_encoder import CrossEncoder
from memcli.models.embedder import GgufEmbedder
from memcli.models.loaded_model import never

QUERY = "What is the capital of France?"
RELEVANT = PassageInput("france.md", (), "Paris is the capital and largest city of France.")
IRRELEVANT = PassageInput(
    "bread.md", (), "Knead the dough for ten minutes, then let it rest under a damp cloth."
)
# Two different inputs of a head that works differ by far more than rounding.
LEAST_DIFFERENCE = 1e-4


def check_reranker(model: CrossEncoder, name: str) -> None:
    """Raise ``NotReady`` ``model_unsuitable`` unless the relevant passage scores higher."""
    relevant, irrelevant = (
        each.score for each in model.score_texts(QUERY, [RELEVANT, IRRELEVANT], never)
    )
    if not (math.isfinite(relevant) and math.isfinite(irrelevant)):
        raise _unsuitable(name, "its scores are no finite numbers")
    if abs(relevant - irrelevant) < LEAST_DIFFERENCE:
        raise _unsuitable(name, f"it scores everything alike ({relevant:.4f})")
    if relevant < irrelevant:
        raise _unsuitable(
            name, f"it prefers nonsense to the answer ({relevant:.4f} < {irrelevant:.4f})"
        )


def check_embedder(model: GgufEmbedder, name: str) -> None:
    """Raise ``NotReady`` ``model_unsuitable`` unless the relevant passage is nearer."""
    query = model.embed_query(QUERY).vector
    vectors = {each.ordinal: each.vector for each in model.embed_passages([RELEVANT, IRRELEVANT])}
    if not all(np.isfinite(vector).all() for vector in (query, *vectors.values())):
        raise _unsuitable(name, "its vectors are no finite numbers")
    relevant, irrelevant = float(query @ vectors[0]), float(query @ vectors[1])
    if relevant - irrelevant < LEAST_DIFFERENCE:
        raise _unsuitable(
            name,
            f"it does not tell an answer from nonsense ({relevant:.4f}, {irrelevant:.4f})",
        )


def _unsuitable(name: str, why: str) -> NotReady:
    return NotReady(
        "model_unsuitable",
        f"model {name} cannot do the job: {why}",
        "Check that it is the right kind of model and that its profile feeds it as it needs.",
    )
