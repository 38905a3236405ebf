"""The search index of one project: units, their vectors and text, revisions and the head."""
