"""Judges that benchmarks call through a wrapper of OpenAI's API."""
