"""Documentation pages of benchmarks. Making them runs no code but that of benchmarks that are named, for a sample."""

from polymeter.api.catalog.words import LANGUAGES
from polymeter.api.catalog.writing import Written, write_pages

__all__ = ["LANGUAGES", "Written", "write_pages"]
