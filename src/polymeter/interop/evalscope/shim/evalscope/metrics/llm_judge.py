"""The judge that ``llm_match`` is handed."""

from polymeter.judge import LLMJudge

__all__ = ["LLMJudge"]
