"""Ablations of a finished run: the same plan without a part of the prompts, compared with the run sample by sample.

``running`` makes the runs beside it, ``scores`` what each part is worth, ``blind`` the samples that need no media, and
``ablating`` the whole of it.
"""
