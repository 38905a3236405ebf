"""Evaluation Cases, evidence, reports and exports made from Retrieval Runs."""
