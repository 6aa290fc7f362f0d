"""Documentation pages of benchmarks. Writing them runs only the code of benchmarks that are named, to show a sample."""

from polymeter.catalog.pages.texts import LANGUAGES
from polymeter.catalog.pages.writing import Written, write_pages

__all__ = ["LANGUAGES", "Written", "write_pages"]
