"""Logs of other tools, made by running them on the made-up tasks beside this file, imported, and compared with runs of
Polymeter of the same tasks and model.

``python -m conformance.logs.make_lm_eval --work DIR`` runs in the tool's environment and leaves its log in ``DIR/log``;
``tests/interop/<system>/logs`` holds such logs.
"""
