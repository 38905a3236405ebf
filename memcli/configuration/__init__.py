"""The one place where flags, environment, project file, user file and defaults become settings."""

from memcli.configuration.options import OPTIONS, Option
from memcli.configuration.resolution import (
    Configuration,
    Limits,
    Setting,
    resolve_configuration,
)
from memcli.configuration.source_tables import SourceTable

__all__ = [
    "OPTIONS",
    "Configuration",
    "Limits",
    "Option",
    "Setting",
    "SourceTable",
    "resolve_configuration",
]
