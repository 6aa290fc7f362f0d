"""Reports of 1.x: identities of metrics, their meaning, the tree of scores, and its tables."""
