"""What lmms-eval's own modules do, where it is more than a name of ours."""

__version__ = "0.7.2"
