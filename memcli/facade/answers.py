"""One activation as the facade gives it: the answer, its Run, and what went wrong beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memcli.retrieval.activation import Activation


@dataclass(frozen=True, slots=True)
class Answer:
    """``run_id`` is ``None`` where history was off or could not be written."""

    activation: Activation
    run_id: str | None
    timings_us: Mapping[str, int]
    warnings: tuple[str, ...]

    def document(self, *, explain: bool = False) -> dict[str, Any]:
        """What ``activate --json`` prints."""
        from memcli.retrieval.documents import activation_document

        return activation_document(self.activation, self.run_id, self.timings_us, explain=explain)
