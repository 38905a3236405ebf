"""The labelling session: a person reads a question's candidates and marks what answers it."""
