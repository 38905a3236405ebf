-- The central store as our last pre-release left it: layout 41, with data.
-- A test loads this into an empty file and drives it up the ladder.
PRAGMA user_version = 41;
CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL);
CREATE TABLE projects (
    project_id TEXT PRIMARY KEY NOT NULL, root TEXT NOT NULL, name TEXT NOT NULL,
    created_at TEXT NOT NULL, last_seen TEXT NOT NULL
);
CREATE INDEX projects_by_root ON projects (root);
CREATE TABLE retrieval_runs (
    run_id TEXT PRIMARY KEY NOT NULL, project_id TEXT NOT NULL, query TEXT NOT NULL,
    status TEXT NOT NULL, chain TEXT NOT NULL, created_at TEXT NOT NULL, completed_at TEXT,
    revision_id TEXT, effective_hash TEXT, recipe TEXT, models TEXT, limits TEXT, timings_us TEXT,
    resource_count INTEGER, unit_count INTEGER, candidate_count INTEGER, reranked_count INTEGER,
    fragment_count INTEGER, token_count INTEGER,
    error_stage TEXT, error_code TEXT, error_summary TEXT, process_id INTEGER
);
CREATE INDEX retrieval_runs_by_project ON retrieval_runs (project_id, created_at);
CREATE INDEX retrieval_runs_by_time ON retrieval_runs (created_at);
CREATE TABLE retrieval_run_candidates (
    run_id TEXT NOT NULL REFERENCES retrieval_runs (run_id), ordinal INTEGER NOT NULL,
    unit_key TEXT NOT NULL, content_hash TEXT NOT NULL, resource_id TEXT NOT NULL,
    resource_hash TEXT, scope TEXT, kind TEXT, path TEXT, heading_path TEXT,
    start_line INTEGER, end_line INTEGER, start_char INTEGER, end_char INTEGER,
    token_count INTEGER, exact_tier INTEGER, exact_rank INTEGER,
    bm25_rank INTEGER, bm25_score REAL, vector_rank INTEGER, vector_score REAL,
    rrf_rank INTEGER, rrf_score REAL, rerank_rank INTEGER, rerank_score REAL, relevance REAL,
    final_rank INTEGER, final_score REAL, exclusion_reason TEXT, action TEXT,
    excerpt TEXT NOT NULL,
    PRIMARY KEY (run_id, ordinal)
);
CREATE TABLE retrieval_corpus_blobs (
    sha256 TEXT PRIMARY KEY NOT NULL, length INTEGER NOT NULL, created_at TEXT NOT NULL
);
-- One manifest for every run, however often the same memory was searched.
CREATE TABLE retrieval_run_resources (
    run_id TEXT NOT NULL REFERENCES retrieval_runs (run_id), ordinal INTEGER NOT NULL,
    resource_id TEXT NOT NULL, scope TEXT NOT NULL, kind TEXT NOT NULL, path TEXT NOT NULL,
    title TEXT NOT NULL, description TEXT NOT NULL, resource_hash TEXT NOT NULL,
    body_sha256 TEXT NOT NULL REFERENCES retrieval_corpus_blobs (sha256),
    PRIMARY KEY (run_id, ordinal)
);
CREATE INDEX retrieval_run_resources_by_body ON retrieval_run_resources (body_sha256);
CREATE TABLE evaluation_corpora (
    corpus_hash TEXT PRIMARY KEY NOT NULL, effective_hash TEXT NOT NULL, created_at TEXT NOT NULL
);
CREATE TABLE evaluation_corpus_resources (
    corpus_hash TEXT NOT NULL REFERENCES evaluation_corpora (corpus_hash),
    ordinal INTEGER NOT NULL, resource_id TEXT NOT NULL, scope TEXT NOT NULL,
    kind TEXT NOT NULL, path TEXT NOT NULL, title TEXT NOT NULL, description TEXT NOT NULL,
    resource_hash TEXT NOT NULL,
    body_sha256 TEXT NOT NULL REFERENCES retrieval_corpus_blobs (sha256),
    PRIMARY KEY (corpus_hash, ordinal)
);
CREATE INDEX evaluation_corpus_resources_by_body ON evaluation_corpus_resources (body_sha256);
CREATE TABLE evaluation_cases (
    case_id TEXT PRIMARY KEY NOT NULL, run_id TEXT NOT NULL REFERENCES retrieval_runs (run_id),
    project_id TEXT NOT NULL, query TEXT NOT NULL,
    corpus_hash TEXT NOT NULL REFERENCES evaluation_corpora (corpus_hash),
    status TEXT NOT NULL, version INTEGER NOT NULL,
    created_at TEXT NOT NULL, updated_at TEXT NOT NULL
);
CREATE UNIQUE INDEX evaluation_cases_by_run ON evaluation_cases (run_id);
CREATE INDEX evaluation_cases_by_project ON evaluation_cases (project_id, status);
CREATE INDEX evaluation_cases_by_corpus ON evaluation_cases (corpus_hash);
-- NULLs are distinct to a unique index over plain columns: 41 let the same resource in twice.
CREATE TABLE evaluation_evidence (
    case_id TEXT NOT NULL REFERENCES evaluation_cases (case_id), resource_id TEXT NOT NULL,
    unit_key TEXT
);

INSERT INTO schema_migrations (version, name, applied_at)
VALUES (41, 'created', '2025-11-01T09:00:00.000000Z');
INSERT INTO projects (project_id, root, name, created_at, last_seen)
VALUES ('p-harbor', '/srv/harbor', 'harbor', '2025-11-01T09:00:00.000000Z', '2025-11-05T09:00:00.000000Z');
INSERT INTO projects (project_id, root, name, created_at, last_seen)
VALUES ('p-qinghe', '/srv/清河', '清河', '2025-11-02T09:00:00.000000Z', '2025-11-04T09:00:00.000000Z');
INSERT INTO retrieval_corpus_blobs (sha256, length, created_at)
VALUES ('6bde65b30bba6479a28ae41a8797809e7ae7573cea458c436a1a8d73cdfc3c23', 56, '2025-11-01T09:00:00.000000Z');
INSERT INTO retrieval_corpus_blobs (sha256, length, created_at)
VALUES ('5f1ca22d6e7d86e24a4521ffcce939fb77d132d1fc190f5cb53f1ed4d4044c1f', 52, '2025-11-01T09:00:00.000000Z');
INSERT INTO retrieval_corpus_blobs (sha256, length, created_at)
VALUES ('8e6457e49bf1f7f5bfe625ee097a0c57839c70c56b8703fc6b33b9a5e491c7d4', 62, '2025-11-01T09:00:00.000000Z');
INSERT INTO retrieval_corpus_blobs (sha256, length, created_at)
VALUES ('4eb8cfd7744e9224a3d8c2eb34eb07422986dc374c855b80343bd9be8813685a', 64, '2025-11-01T09:00:00.000000Z');
INSERT INTO retrieval_runs (run_id, project_id, query, status, chain, created_at, completed_at, revision_id, effective_hash, recipe, models, limits, timings_us, resource_count, unit_count, candidate_count, reranked_count, fragment_count, token_count, process_id)
VALUES ('a1000000000000a1', 'p-harbor', 'where may a ship moor at night?', 'succeeded', 'agent_activation.v2', '2025-11-01T09:00:00.000000Z', '2025-11-01T09:00:00.000000Z', 'rev-5fcdd3', '5fcdd36b544d43917aa166cc1cfeb5464b5d3a2b2d8db43c6b9ac277e117cacc', '{"chunker":"1"}', '{"embedder":{"profile":"e5"}}', '{"tokens":2400}', '{"total":900}', 2, 2, 1, 1, 1, 12, NULL);
INSERT INTO retrieval_run_candidates (run_id, ordinal, unit_key, content_hash, resource_id, resource_hash, scope, kind, path, heading_path, start_line, end_line, start_char, end_char, token_count, bm25_rank, bm25_score, vector_rank, vector_score, rrf_rank, rrf_score, rerank_rank, rerank_score, relevance, final_rank, final_score, action, excerpt)
VALUES ('a1000000000000a1', 0, 'mooring#root~0.0', '6bde65b30bba6479a28ae41a8797809e7ae7573cea458c436a1a8d73cdfc3c23', 'mooring', '32f70423f8ba149a031c1bb122f9b91d3dcc428b7f08f7476034e31b77ae67bc', 'project', 'note', 'docs/mooring.md', '["mooring"]', 1, 3, 0, 56, 12, 1, 3.5, 1, 0.8, 1, 0.0327868852459016, 1, 0.7, 0.9, 1, 0.9, 'add', '# Mooring' || char(10) || '' || char(10) || 'Berth three takes ships up to 80 m at night.' || char(10) || '');
INSERT INTO retrieval_run_resources (run_id, ordinal, resource_id, scope, kind, path, title, description, resource_hash, body_sha256)
VALUES ('a1000000000000a1', 0, 'mooring', 'project', 'note', 'docs/mooring.md', 'mooring', '', '32f70423f8ba149a031c1bb122f9b91d3dcc428b7f08f7476034e31b77ae67bc', '6bde65b30bba6479a28ae41a8797809e7ae7573cea458c436a1a8d73cdfc3c23');
INSERT INTO retrieval_run_resources (run_id, ordinal, resource_id, scope, kind, path, title, description, resource_hash, body_sha256)
VALUES ('a1000000000000a1', 1, 'tariff', 'project', 'note', 'docs/tariff.md', 'tariff', '', 'b2beb5413305980d2abb94705625b526a843d3c9fdc9ef10412ad21a97467db9', '5f1ca22d6e7d86e24a4521ffcce939fb77d132d1fc190f5cb53f1ed4d4044c1f');
INSERT INTO retrieval_runs (run_id, project_id, query, status, chain, created_at, completed_at, revision_id, effective_hash, recipe, models, limits, timings_us, resource_count, unit_count, candidate_count, reranked_count, fragment_count, token_count, process_id)
VALUES ('a2000000000000a2', 'p-harbor', 'are prices frozen?', 'succeeded', 'agent_activation.v2', '2025-11-02T09:00:00.000000Z', '2025-11-02T09:00:00.000000Z', 'rev-5fcdd3', '5fcdd36b544d43917aa166cc1cfeb5464b5d3a2b2d8db43c6b9ac277e117cacc', '{"chunker":"1"}', '{"embedder":{"profile":"e5"}}', '{"tokens":2400}', '{"total":900}', 2, 2, 1, 1, 1, 12, NULL);
INSERT INTO retrieval_run_candidates (run_id, ordinal, unit_key, content_hash, resource_id, resource_hash, scope, kind, path, heading_path, start_line, end_line, start_char, end_char, token_count, bm25_rank, bm25_score, vector_rank, vector_score, rrf_rank, rrf_score, rerank_rank, rerank_score, relevance, final_rank, final_score, action, excerpt)
VALUES ('a2000000000000a2', 0, 'mooring#root~0.0', '6bde65b30bba6479a28ae41a8797809e7ae7573cea458c436a1a8d73cdfc3c23', 'mooring', '32f70423f8ba149a031c1bb122f9b91d3dcc428b7f08f7476034e31b77ae67bc', 'project', 'note', 'docs/mooring.md', '["mooring"]', 1, 3, 0, 56, 12, 1, 3.5, 1, 0.8, 1, 0.0327868852459016, 1, 0.7, 0.9, 1, 0.9, 'add', '# Mooring' || char(10) || '' || char(10) || 'Berth three takes ships up to 80 m at night.' || char(10) || '');
INSERT INTO retrieval_run_resources (run_id, ordinal, resource_id, scope, kind, path, title, description, resource_hash, body_sha256)
VALUES ('a2000000000000a2', 0, 'mooring', 'project', 'note', 'docs/mooring.md', 'mooring', '', '32f70423f8ba149a031c1bb122f9b91d3dcc428b7f08f7476034e31b77ae67bc', '6bde65b30bba6479a28ae41a8797809e7ae7573cea458c436a1a8d73cdfc3c23');
INSERT INTO retrieval_run_resources (run_id, ordinal, resource_id, scope, kind, path, title, description, resource_hash, body_sha256)
VALUES ('a2000000000000a2', 1, 'tariff', 'project', 'note', 'docs/tariff.md', 'tariff', '', 'b2beb5413305980d2abb94705625b526a843d3c9fdc9ef10412ad21a97467db9', '5f1ca22d6e7d86e24a4521ffcce939fb77d132d1fc190f5cb53f1ed4d4044c1f');
INSERT INTO retrieval_runs (run_id, project_id, query, status, chain, created_at, completed_at, revision_id, effective_hash, recipe, models, limits, timings_us, resource_count, unit_count, candidate_count, reranked_count, fragment_count, token_count, process_id)
VALUES ('a3000000000000a3', 'p-harbor', 'are prices logged?', 'succeeded', 'agent_activation.v2', '2025-11-03T09:00:00.000000Z', '2025-11-03T09:00:00.000000Z', 'rev-7a00d4', '7a00d4c2bd51eed594595499aec5673149717bbe0b258fbcc1f0c48018d4f8cd', '{"chunker":"1"}', '{"embedder":{"profile":"e5"}}', '{"tokens":2400}', '{"total":900}', 2, 2, 1, 1, 1, 12, NULL);
INSERT INTO retrieval_run_candidates (run_id, ordinal, unit_key, content_hash, resource_id, resource_hash, scope, kind, path, heading_path, start_line, end_line, start_char, end_char, token_count, bm25_rank, bm25_score, vector_rank, vector_score, rrf_rank, rrf_score, rerank_rank, rerank_score, relevance, final_rank, final_score, action, excerpt)
VALUES ('a3000000000000a3', 0, 'mooring#root~0.0', '6bde65b30bba6479a28ae41a8797809e7ae7573cea458c436a1a8d73cdfc3c23', 'mooring', '32f70423f8ba149a031c1bb122f9b91d3dcc428b7f08f7476034e31b77ae67bc', 'project', 'note', 'docs/mooring.md', '["mooring"]', 1, 3, 0, 56, 12, 1, 3.5, 1, 0.8, 1, 0.0327868852459016, 1, 0.7, 0.9, 1, 0.9, 'add', '# Mooring' || char(10) || '' || char(10) || 'Berth three takes ships up to 80 m at night.' || char(10) || '');
INSERT INTO retrieval_run_resources (run_id, ordinal, resource_id, scope, kind, path, title, description, resource_hash, body_sha256)
VALUES ('a3000000000000a3', 0, 'mooring', 'project', 'note', 'docs/mooring.md', 'mooring', '', '32f70423f8ba149a031c1bb122f9b91d3dcc428b7f08f7476034e31b77ae67bc', '6bde65b30bba6479a28ae41a8797809e7ae7573cea458c436a1a8d73cdfc3c23');
INSERT INTO retrieval_run_resources (run_id, ordinal, resource_id, scope, kind, path, title, description, resource_hash, body_sha256)
VALUES ('a3000000000000a3', 1, 'tariff', 'project', 'note', 'docs/tariff.md', 'tariff', '', '81adb808f694ca53f6d3347f4ed9936205b586f1101ebe1c99ff307d2f6233fb', '4eb8cfd7744e9224a3d8c2eb34eb07422986dc374c855b80343bd9be8813685a');
INSERT INTO retrieval_runs (run_id, project_id, query, status, chain, created_at, completed_at, revision_id, effective_hash, recipe, models, limits, timings_us, resource_count, unit_count, candidate_count, reranked_count, fragment_count, token_count, process_id)
VALUES ('b1000000000000b1', 'p-qinghe', '夜间靠泊', 'succeeded', 'agent_activation.v2', '2025-11-04T09:00:00.000000Z', '2025-11-04T09:00:00.000000Z', 'rev-b49e1b', 'b49e1b16b95eefa617ff7a6db9db2fb0d1501ec3c90fbc853ad56e600d233d40', '{"chunker":"1"}', '{"embedder":{"profile":"e5"}}', '{"tokens":2400}', '{"total":900}', 1, 1, 1, 1, 1, 12, NULL);
INSERT INTO retrieval_run_candidates (run_id, ordinal, unit_key, content_hash, resource_id, resource_hash, scope, kind, path, heading_path, start_line, end_line, start_char, end_char, token_count, bm25_rank, bm25_score, vector_rank, vector_score, rrf_rank, rrf_score, rerank_rank, rerank_score, relevance, final_rank, final_score, action, excerpt)
VALUES ('b1000000000000b1', 0, '靠泊#root~0.0', '8e6457e49bf1f7f5bfe625ee097a0c57839c70c56b8703fc6b33b9a5e491c7d4', '靠泊', 'd3c422148e57d5a1b9814c937ae501f2914911b4df4281c6a4464d3548194c9d', 'project', 'note', 'docs/靠泊.md', '["靠泊"]', 1, 3, 0, 24, 12, 1, 3.5, 1, 0.8, 1, 0.0327868852459016, 1, 0.7, 0.9, 1, 0.9, 'add', '# 靠泊' || char(10) || '' || char(10) || '夜间第三泊位可停靠八十米以下的船。' || char(10) || '');
INSERT INTO retrieval_run_resources (run_id, ordinal, resource_id, scope, kind, path, title, description, resource_hash, body_sha256)
VALUES ('b1000000000000b1', 0, '靠泊', 'project', 'note', 'docs/靠泊.md', '靠泊', '', 'd3c422148e57d5a1b9814c937ae501f2914911b4df4281c6a4464d3548194c9d', '8e6457e49bf1f7f5bfe625ee097a0c57839c70c56b8703fc6b33b9a5e491c7d4');
INSERT INTO retrieval_runs (run_id, project_id, query, status, chain, created_at, completed_at, error_stage, error_code, error_summary)
VALUES ('a4000000000000a4', 'p-harbor', 'what''s failed?', 'failed', 'agent_activation.v2', '2025-11-04T09:00:00.000000Z', '2025-11-04T09:00:00.000000Z', 'open', 'index_not_ready', 'There is no ready revision.');
INSERT INTO retrieval_runs (run_id, project_id, query, status, chain, created_at, process_id)
VALUES ('a5000000000000a5', 'p-harbor', 'left behind', 'running', 'agent_activation.v2', '2025-11-05T09:00:00.000000Z', 4242);
INSERT INTO evaluation_corpora (corpus_hash, effective_hash, created_at)
VALUES ('bc6d81474729b479d65171f023ee9b3701a003be36c3aa88a3ac843ed624d8da', '5fcdd36b544d43917aa166cc1cfeb5464b5d3a2b2d8db43c6b9ac277e117cacc', '2025-11-02T09:00:00.000000Z');
INSERT INTO evaluation_corpus_resources (corpus_hash, ordinal, resource_id, scope, kind, path, title, description, resource_hash, body_sha256)
VALUES ('bc6d81474729b479d65171f023ee9b3701a003be36c3aa88a3ac843ed624d8da', 0, 'mooring', 'project', 'note', 'docs/mooring.md', 'mooring', '', '32f70423f8ba149a031c1bb122f9b91d3dcc428b7f08f7476034e31b77ae67bc', '6bde65b30bba6479a28ae41a8797809e7ae7573cea458c436a1a8d73cdfc3c23');
INSERT INTO evaluation_corpus_resources (corpus_hash, ordinal, resource_id, scope, kind, path, title, description, resource_hash, body_sha256)
VALUES ('bc6d81474729b479d65171f023ee9b3701a003be36c3aa88a3ac843ed624d8da', 1, 'tariff', 'project', 'note', 'docs/tariff.md', 'tariff', '', 'b2beb5413305980d2abb94705625b526a843d3c9fdc9ef10412ad21a97467db9', '5f1ca22d6e7d86e24a4521ffcce939fb77d132d1fc190f5cb53f1ed4d4044c1f');
INSERT INTO evaluation_cases (case_id, run_id, project_id, query, corpus_hash, status, version, created_at, updated_at)
VALUES ('c1000000000000c1', 'a1000000000000a1', 'p-harbor', 'where may a ship moor at night?', 'bc6d81474729b479d65171f023ee9b3701a003be36c3aa88a3ac843ed624d8da', 'ready', 2, '2025-11-02T09:00:00.000000Z', '2025-11-02T09:00:00.000000Z');
INSERT INTO evaluation_evidence (case_id, resource_id, unit_key)
VALUES ('c1000000000000c1', 'mooring', NULL);
INSERT INTO evaluation_evidence (case_id, resource_id, unit_key)
VALUES ('c1000000000000c1', 'mooring', NULL);
INSERT INTO evaluation_evidence (case_id, resource_id, unit_key)
VALUES ('c1000000000000c1', 'mooring', 'mooring#root~0.0');
