"""Reading: from an answer as the model gave it to the text, letter or number that is compared.

Every format reads answers with the functions of this package, in this order: reasoning, white space, stop strings, then
the steps of the metric (Unicode, letters, numbers). It knows no format, model or run, and it never asks anything: the
journal keeps answers as received, and reading them again costs no request.
"""

from __future__ import annotations

READING_VERSION = 2
"""The version of the rules by which answers are read. It goes up with every change that can give another text, letter
or number; ``run.json`` holds it, and it is part of what scores rest on. Runs that hold none are of version 1, when each
format read answers in its own way, and stop strings cut them before they were stored.
"""
