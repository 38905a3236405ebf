"""The public name of a unit: ``<resource id>#<identity>~<occurrence>.<part>``."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

DESCRIPTION = "description"
ROOT = "root"

# Letters and digits of any script, and the underscore; everything else is one hyphen a run.
OTHER = re.compile(r"\W+")
ENCODED = str.maketrans({"%": "%25", "#": "%23", "~": "%7E"})


class UnitKeys:
    """Names the units of one resource, section after section, in body order."""

    def __init__(self, resource_id: str) -> None:
        self._resource = resource_id.translate(ENCODED)
        self._seen: Counter[str] = Counter()

    def section(self, identity: str, parts: int) -> list[str]:
        """The keys of the next section's parts; ``identity`` may have come before."""
        occurrence = self._seen[identity]
        self._seen[identity] += 1
        return [f"{self._resource}#{identity}~{occurrence}.{part}" for part in range(parts)]


def section_identity(heading_path: Sequence[str]) -> str:
    """``root`` for an empty path, else ``/`` and the headings joined by ``/``.

    A heading is NFC, lower case, with each run of anything but letters, digits
    and ``_`` turned into ``-``. Headings that differ only there share an
    identity and are told apart by their occurrence.
    """
    if not heading_path:
        return ROOT
    return "/" + "/".join(_identity_of(heading) for heading in heading_path)


def _identity_of(heading: str) -> str:
    return OTHER.sub("-", unicodedata.normalize("NFC", heading).lower())
