"""Reading of answers: from a model's raw answer to the text, letter or number that is compared.

Every format reads answers with the functions of this package, in this order: reasoning, white space, stop strings, then
the steps of the metric (Unicode, letters, numbers). The package knows no format, model or run, and it sends no
requests. The journal keeps answers as received, so reading them again needs no request.
"""

from __future__ import annotations

READING_VERSION = 2
"""The version of the rules by which answers are read. It is raised by every change that can give another text, letter
or number. ``run.json`` contains it, and scores depend on it. Runs without a version are of version 1, in which each
format read answers in its own way, and stop strings cut answers before they were stored.
"""
