"""Stand-in for ``lmms_eval.tasks.librispeech.whisper_normalizer``: transcripts as Whisper's authors compare them."""
