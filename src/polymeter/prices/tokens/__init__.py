"""The tokens of a request before it is sent: from its text, and from the headers of its media by the rule that each
provider states. Nothing is decoded.

``polymeter.prices`` makes money of them. The tokens of an answer are unknown before it is there.
"""

from polymeter.prices.tokens.counts import TokenCount
from polymeter.prices.tokens.requests import request_tokens
from polymeter.prices.tokens.rules import TokenRule, token_rule

__all__ = ["TokenCount", "TokenRule", "request_tokens", "token_rule"]
