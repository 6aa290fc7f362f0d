"""The viewer: a local web application over a folder of runs.

It reads run folders and writes nothing into them but notes. Nothing in the engine knows about it; what it shows of a
run that needs more than its folder (live results, comparisons, leaderboards) is handed to it as functions.
"""
