"""One file per command: parse, call the facade once, print."""
