"""Parts of lmms-eval's own modules that are more than names of ours."""

__version__ = "0.7.2"
