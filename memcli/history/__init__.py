"""Retrieval Runs in the central store: every answer's trace and the corpus it came from."""
