"""memcli: index a project's memory, answer from it, trace every answer, evaluate the traces."""

__version__ = "0.1.0"
