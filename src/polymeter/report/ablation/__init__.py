"""Ablations of a run in print and as a page: what each part of the prompts is worth, and the samples that need none of
the media.
"""
