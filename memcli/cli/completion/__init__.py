"""Completion for four shells, generated from the commands themselves."""
