"""Identity recall: resources whose id, path or title is the query, or begins with it."""

from __future__ import annotations

import sqlite3

from memcli.index.stored import IdentityHit

# Above every string that begins with the prefix and goes on with any assigned character.
_ABOVE = "\U0010ffff"


def _resources(condition: str) -> str:
    return (
        "SELECT ordinal FROM search_resources"
        f" WHERE revision_id = :revision AND {condition} AND unit_count > 0"
    )


# Each name is asked for by itself, so that each question has its index.
_EQUAL_ID = _resources("folded_id = :query")
_EQUAL_NAME = " UNION ".join(_resources(f"folded_{name} = :query") for name in ("path", "title"))
_EXCEPT_NAMES = " EXCEPT ".join(_resources(f"folded_{name} = :query") for name in ("path", "title"))
_PREFIX = " UNION ".join(
    _resources(f"folded_{name} >= :query AND folded_{name} < :above")
    for name in ("id", "path", "title")
)

# Each tier's first places belong to its first resources: of two matching resources the
# earlier has the better place at every position, so at most :places of them can appear.
# The plus keeps SQLite from walking all resources in order instead of asking for the names.
_TIER = """
    WITH named AS ({named}), first AS (SELECT ordinal FROM named ORDER BY +ordinal LIMIT :places)
    SELECT u.unit_rowid FROM first f
        JOIN search_resources r ON r.revision_id = :revision AND r.ordinal = f.ordinal
        JOIN search_units u ON u.revision_id = :revision
            AND u.ordinal BETWEEN r.first_unit AND r.first_unit + r.unit_count - 1
    ORDER BY u.ordinal - r.first_unit, r.ordinal LIMIT :places
"""
_TIERS = (
    (1, _TIER.format(named=_EQUAL_ID)),
    (2, _TIER.format(named=f"{_EQUAL_NAME} EXCEPT {_EQUAL_ID}")),
    (3, _TIER.format(named=f"{_PREFIX} EXCEPT {_EQUAL_ID} EXCEPT {_EXCEPT_NAMES}")),
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
