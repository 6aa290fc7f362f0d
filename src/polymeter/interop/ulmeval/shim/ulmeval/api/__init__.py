"""Judges that benchmarks ask through a wrapper of OpenAI's API."""
