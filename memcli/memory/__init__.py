"""Project memory on disk: which files count, what they say, and the Effective Memory they form."""
