"""``polymeter vlmeval``: VLMEvalKit's ``run.py`` and ``vlmutil``.

``flags`` parses, ``kit`` and ``judges`` hold the tool's rules, ``status`` writes its status file, and ``reports`` and
``circular`` are its utilities. Pairs, runs and files are those of ``polymeter ulmeval``.
"""
