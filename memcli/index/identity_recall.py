"""Identity recall: resources whose id, path or title is the query, or begins with it."""

from __future__ import annotations

import sqlite3

from memcli.index.stored import IdentityHit

# Above every string that begins with the prefix: no text holds this noncharacter.
_ABOVE = "\U0010ffff"

_EQUAL_ID = "folded_id = :query"
_EQUAL_NAME = "folded_path = :query OR folded_title = :query"
_PREFIX = " OR ".join(
    f"(folded_{name} >= :query AND folded_{name} < :above)" for name in ("id", "path", "title")
)

# Each tier's first places belong to its first resources: of two matching resources the
# earlier has the better place at every position, so at most :places of them can appear.
_TIER = """
    WITH matching AS (
        SELECT ordinal, first_unit, unit_count FROM search_resources
        WHERE revision_id = :revision AND unit_count > 0
            AND ({condition}) AND NOT ({earlier})
        ORDER BY ordinal LIMIT :places
    )
    SELECT u.unit_rowid FROM matching m JOIN search_units u
        ON u.revision_id = :revision
        AND u.ordinal BETWEEN m.first_unit AND m.first_unit + m.unit_count - 1
    ORDER BY u.ordinal - m.first_unit, m.ordinal LIMIT :places
"""
_TIERS = (
    (1, _TIER.format(condition=_EQUAL_ID, earlier="0")),
    (2, _TIER.format(condition=_EQUAL_NAME, earlier=_EQUAL_ID)),
    (3, _TIER.format(condition=_PREFIX, earlier=f"{_EQUAL_ID} OR {_EQUAL_NAME}")),
)


def identity_hits(
    connection: sqlite3.Connection,
    revision_id: str,
    folded_query: str,
    prefix_limit: int,
    limit: int,
) -> list[IdentityHit]:
    """Hits by tier, then position in the resource, then resource order; at most ``limit``.

    A hit stands for all units of its resource, each in its best tier only.
    Prefix hits take at most ``prefix_limit`` places. An empty query has no hits.
    """
    if not folded_query:
        return []
    found: list[IdentityHit] = []
    for tier, statement in _TIERS:
        places = limit - len(found)
        if tier == 3:
            places = min(places, prefix_limit)
        if places <= 0:
            break
        rows = connection.execute(
            statement,
            {
                "revision": revision_id,
                "query": folded_query,
                "above": folded_query + _ABOVE,
                "places": places,
            },
        )
        found.extend(IdentityHit(rowid, tier) for (rowid,) in rows)
    return found
