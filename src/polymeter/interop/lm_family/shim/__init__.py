"""Functions that lm-eval and lmms-eval both offer to code which imports them."""
