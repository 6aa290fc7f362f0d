"""Ablations (``--ablation HOW``): every sample of a task is asked without a part of its prompt, and scored as usual.

``task`` makes such a task of any compiled one: ``requests`` changes requests, ``blank_media`` makes media without
content, ``partners`` finds the sample whose media another one gets, and ``questions`` the question in a prompt.
``checking`` refuses what cannot be done before anything is sent. Only requests to the measured model change: scores and
judges see the sample's own question and reference.
"""
