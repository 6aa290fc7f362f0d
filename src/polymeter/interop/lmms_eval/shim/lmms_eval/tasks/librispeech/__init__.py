"""Stand-in for what speech tasks import from ``lmms_eval.tasks.librispeech``."""
