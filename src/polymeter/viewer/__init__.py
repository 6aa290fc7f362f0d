"""The viewer: a local web application over a folder of runs.

It reads run folders and writes only notes into them. The engine knows nothing about it. Functions passed to it compute
whatever needs more than a run folder (live results, comparisons, leaderboards).
"""
