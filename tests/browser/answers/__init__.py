"""Where each page answers the questions of ``questions.md``: one module for each page, with its ``PAGE``."""
