"""Documentation pages of benchmarks, made without running their code, except for the samples of those that are named."""

from polymeter.api.catalog.words import LANGUAGES
from polymeter.api.catalog.writing import Written, write_pages

__all__ = ["LANGUAGES", "Written", "write_pages"]
