"""Configuration: TOML files, validated settings, and where each key came from."""

from acms_adapters.config.project import set_project
from acms_adapters.config.schema import StrategyTable
from acms_adapters.config.settings import (
    PROJECT_FILE,
    Settings,
    global_config_file,
)

__all__ = ["PROJECT_FILE", "Settings", "StrategyTable", "global_config_file", "set_project"]
