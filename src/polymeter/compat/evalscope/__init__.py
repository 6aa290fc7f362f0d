"""Stand-in for ``evalscope`` 0.17: what data adapters and scripts written for it import."""
