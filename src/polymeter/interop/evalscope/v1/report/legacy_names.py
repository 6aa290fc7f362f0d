"""Names of metrics in reports of schema 1, which held aggregation, ``k``, scope and target, read as identities."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from polymeter.interop.evalscope.v1.report.semantics import is_older_name, spelling_of
from polymeter.interop.evalscope.v1.types.identities import (
    BLEU_N,
    ROUGE_VARIANT,
    MetricIdentity,
    Scalar,
    canonical_aggregation,
    canonical_overlap_name,
    snake_case,
)

_Axes = dict[str, Scalar]
_NameAndAggregation = tuple[str, str]
_ATTEMPTS = re.compile(r"(?P<name>.+?)_(?:(?P<kind>pass|vote)@|(?P<all>pass)\^)(?P<k>\d+)")
_THRESHOLD = re.compile(r"(?:mean_)?ACC@(?P<threshold>\d+(?:\.\d+)?)")
_SCOPED = re.compile(r"(?P<scope>[^/]+)/(?P<name>[^/]+)")
_SCOPED_NAMES = frozenset({"success_rate", "precision", "recall", "f1"})
_AGGREGATION_K = re.compile(r"(?P<kind>avg|mean|pass|max|vote)@(?P<k>\d+)")
_OF_KIND = {"avg": "mean", "mean": "mean", "pass": "pass_at_k", "vote": "vote_at_k", "max": "max"}
_TARGETS = {"a": "answer", "f": "figure", "q": "question"}
_PLAIN = re.compile(r"[a-z][a-z0-9_]*")
_NAMELESS = frozenset({"score", "overall", "total_score"})
_MEAN = "mean_"


def identity_of(name: str, benchmark: str = "") -> MetricIdentity:
    """Return the identity of a metric of schema 1. A name of which nothing is known becomes a dimension."""
    if is_older_name(name) or _is_structured(name, benchmark):
        return migrate_legacy_identity(name, "identity", benchmark_name=benchmark)
    if _PLAIN.fullmatch(name) and name not in _NAMELESS:
        return MetricIdentity(name=name, aggregation="identity")
    return MetricIdentity(name="legacy_metric", aggregation="identity", dimensions={"original_name": name})


def migrate_legacy_identity(
    metric_name: str,
    aggregation: str | None,
    dimensions: Mapping[str, Scalar] | None = None,
    benchmark_name: str | None = None,
) -> MetricIdentity:
    """Return the identity of a metric whose name a report of schema 1, or a registration, wrote in the older way.

    Args:
        metric_name: The name.
        aggregation: The aggregation, if it is known apart from the name.
        dimensions: Dimensions that are known apart from the name.
        benchmark_name: The benchmark, which may have a way of its own.

    Raises:
        ValueError: if the name cannot be part of an identity.
    """
    axes = dict(dimensions or {})
    name, aggregation = metric_name, aggregation or "identity"
    rule = _RULES.get(benchmark_name or "")
    if rule is not None and not rule.is_after_scope:
        name, aggregation = rule.read(name, axes, aggregation)
    if scoped := _SCOPED.fullmatch(name):
        axes.setdefault("scope", snake_case(scoped["scope"]))
        name = scoped["name"]
    if rule is not None and rule.is_after_scope:
        name, aggregation = rule.read(name, axes, aggregation)
    if attempts := _ATTEMPTS.fullmatch(name):
        name = attempts["name"]
        aggregation = "pass_hat_k" if attempts["all"] else _OF_KIND[attempts["kind"]]
        axes.setdefault("k", int(attempts["k"]))
    if of_k := _AGGREGATION_K.fullmatch(aggregation):
        aggregation = _OF_KIND[of_k["kind"]]
        axes.setdefault("k", int(of_k["k"]))
    if name.startswith(_MEAN) and aggregation == "identity":
        aggregation = "mean"
    plain = _plain_name(name, axes)
    return MetricIdentity(name=plain, aggregation=canonical_aggregation(aggregation), dimensions=axes)


def _plain_name(name: str, axes: _Axes) -> str:
    """The name alone; what its spelling says beside it becomes a dimension."""
    own = _spelled(name, axes) or canonical_overlap_name(name, axes)
    if own is not None:
        return own
    if threshold := _THRESHOLD.fullmatch(name):
        axes.setdefault("threshold", float(threshold["threshold"]))
        return "accuracy"
    name = name.removeprefix(_MEAN)
    plain = snake_case(name)
    return _spelled(name, axes) or _spelled(plain, axes) or plain


def _spelled(name: str, axes: _Axes) -> str | None:
    found = spelling_of(name)
    if found is None:
        return None
    for axis, value in found[1].items():
        axes.setdefault(axis, value)
    return found[0]


class _NamingRule:
    """A benchmark's way of writing names.

    Args:
        pattern: Of a whole name.
        apply: Gives the name and aggregation, and adds dimensions.
        is_after_scope: Whether a scope before ``/`` is cut off first.
    """

    def __init__(
        self,
        pattern: str,
        apply: Callable[[re.Match[str], _Axes, str], _NameAndAggregation],
        *,
        is_after_scope: bool = False,
    ) -> None:
        self.pattern = re.compile(pattern)
        self.apply = apply
        self.is_after_scope = is_after_scope

    def read(self, name: str, axes: _Axes, aggregation: str) -> _NameAndAggregation:
        """Read a name; one of another form is unchanged."""
        match = self.pattern.fullmatch(name)
        return self.apply(match, axes, aggregation) if match else (name, aggregation)


def _by_question_type(name: str) -> Callable[[re.Match[str], _Axes, str], _NameAndAggregation]:
    def apply(match: re.Match[str], axes: _Axes, aggregation: str) -> _NameAndAggregation:
        scope = match["scope"]
        if scope == "overall":
            axes.setdefault("scope", "overall")
        elif scope == "task_averaged":
            axes.setdefault("scope", "question_types")
            return name, "macro_mean"
        else:
            axes.setdefault("question_type", snake_case(scope))
        return name, "mean"

    return apply


def _overlap(match: re.Match[str], axes: _Axes, aggregation: str) -> _NameAndAggregation:
    return match[0], "mean" if aggregation == "identity" else aggregation


def _language(match: re.Match[str], axes: _Axes, aggregation: str) -> _NameAndAggregation:
    axes.setdefault("language", match["language"].lower())
    return match["metric"], aggregation


def _range_of_tokens(match: re.Match[str], axes: _Axes, aggregation: str) -> _NameAndAggregation:
    if match["least"] is None:
        axes.setdefault("scope", "overall")
    else:
        axes.setdefault("min_tokens", int(match["least"]))
        axes.setdefault("max_tokens", int(match["most"]))
    return "mrcr_score", "mean"


def _cell(match: re.Match[str], axes: _Axes, aggregation: str) -> _NameAndAggregation:
    axes.setdefault("context_length", int(match["length"]))
    axes.setdefault("depth_percent", int(match["depth"]))
    return "accuracy", "mean"


def _search(match: re.Match[str], axes: _Axes, aggregation: str) -> _NameAndAggregation:
    name = match["metric"]
    axes.setdefault("k", int(match["k"]))
    axes.setdefault("scope", snake_case(match["scope"]))
    if name.startswith(("row_", "item_")):
        target, name = name.split("_", 1)
        axes.setdefault("target", target)
    return name, _OF_KIND[match["kind"]]


def _hallusion(match: re.Match[str], axes: _Axes, aggregation: str) -> _NameAndAggregation:
    if match["level"]:
        axes.setdefault("level", snake_case(match["level"]))
    axes.setdefault("target", _TARGETS[match["target"]])
    return "accuracy", "mean"


_OVERLAP_RULE = _NamingRule(rf"(?:{BLEU_N.pattern}|{ROUGE_VARIANT.pattern})", _overlap)
_RULES: Mapping[str, _NamingRule] = {
    "general_qa": _OVERLAP_RULE,
    "general_vqa": _OVERLAP_RULE,
    "longmemeval": _NamingRule(r"(?P<scope>.+)_acc", _by_question_type("accuracy")),
    "locomo": _NamingRule(r"(?P<scope>.+)_f1", _by_question_type("f1")),
    "omni_doc_bench": _NamingRule(r"(?P<metric>.+)_(?P<language>EN|CH)", _language),
    "openai_mrcr": _NamingRule(r"(?:overall|(?P<least>\d+)-(?P<most>\d+))_mrcr_score", _range_of_tokens),
    "needle_haystack": _NamingRule(r"Context#(?P<length>\d+) Depth#(?P<depth>\d+)", _cell),
    "wide_search": _NamingRule(r"(?P<kind>avg|pass|max)@(?P<k>\d+)_(?P<scope>[^/]+)/(?P<metric>[^/]+)", _search),
    "hallusion_bench": _NamingRule(r"(?:(?P<level>.+)_)?(?P<target>[afq])Acc", _hallusion, is_after_scope=True),
}


def _is_structured(name: str, benchmark: str) -> bool:
    patterns = (_ATTEMPTS, BLEU_N, ROUGE_VARIANT, _THRESHOLD)
    if any(pattern.fullmatch(name) for pattern in patterns):
        return True
    scoped = _SCOPED.fullmatch(name)
    if scoped and scoped["name"] in _SCOPED_NAMES:
        return True
    rule = _RULES.get(benchmark)
    return rule is not None and rule.pattern.fullmatch(name) is not None
