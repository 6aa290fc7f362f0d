"""Statistics: standard errors, intervals, resampling, paired comparison, power, and the default reduction from rows to
results.

The package knows values, not benchmarks. ``polymeter.metrics`` and the formats give the values their meaning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polymeter.core.names.lazy import from_homes
from polymeter.stats.additive import Additive
from polymeter.stats.bootstrap import bootstrap, bootstrap_additive, bootstrap_error, bootstrap_interval
from polymeter.stats.errors import (
    clustered_standard_error,
    pooled_standard_error,
    standard_error,
    weighted_standard_error,
)
from polymeter.stats.estimate import Estimate, estimate
from polymeter.stats.intervals import normal_interval, normal_quantile, t_interval, t_quantile, wilson_interval
from polymeter.stats.means.clusters import Partition
from polymeter.stats.means.mean_intervals import MeanInterval, mean_interval, sum_interval
from polymeter.stats.means.moments import mean_spread
from polymeter.stats.ranking.bradley_terry import Strengths, bradley_terry
from polymeter.stats.reduction import MetricPlan, RowReduction, reduce_rows

if TYPE_CHECKING:
    from polymeter.stats.comparisons import CombinedDifference, MemberDifference, group_difference, unpaired_difference
    from polymeter.stats.paired import PairedDifference, paired_difference, t_test_p_value
    from polymeter.stats.power import (
        RepeatedVariance,
        achieved_power,
        detectable_effect,
        difference_variance,
        needed_samples,
        repeated_variance,
    )
    from polymeter.stats.prediction_powered import CorrectedMean, corrected_mean
    from polymeter.stats.ranking.ranks import Gaps, mean_gaps, paired_gaps, rank_intervals, unpaired_gaps
    from polymeter.stats.significance import PairedTest, effect_size, holm, mcnemar_test, paired_test, permutation_test

# Functions that compare and plan runs are imported when they are used. The imports above are those that every run
# needs, and functions with the name of their module (estimate, bootstrap, bradley_terry): a later import of the module
# would hide them.
_HOMES = {
    "polymeter.stats.comparisons": (
        "CombinedDifference",
        "MemberDifference",
        "group_difference",
        "unpaired_difference",
    ),
    "polymeter.stats.paired": (
        "PairedDifference",
        "paired_difference",
        "t_test_p_value",
    ),
    "polymeter.stats.power": (
        "RepeatedVariance",
        "achieved_power",
        "detectable_effect",
        "difference_variance",
        "needed_samples",
        "repeated_variance",
    ),
    "polymeter.stats.prediction_powered": (
        "CorrectedMean",
        "corrected_mean",
    ),
    "polymeter.stats.ranking.ranks": (
        "Gaps",
        "mean_gaps",
        "paired_gaps",
        "rank_intervals",
        "unpaired_gaps",
    ),
    "polymeter.stats.significance": (
        "PairedTest",
        "effect_size",
        "holm",
        "mcnemar_test",
        "paired_test",
        "permutation_test",
    ),
}

__all__ = [
    "Additive",
    "CombinedDifference",
    "CorrectedMean",
    "Estimate",
    "Gaps",
    "MeanInterval",
    "MemberDifference",
    "MetricPlan",
    "PairedDifference",
    "PairedTest",
    "Partition",
    "RepeatedVariance",
    "RowReduction",
    "Strengths",
    "achieved_power",
    "bootstrap",
    "bootstrap_additive",
    "bootstrap_error",
    "bootstrap_interval",
    "bradley_terry",
    "clustered_standard_error",
    "corrected_mean",
    "detectable_effect",
    "difference_variance",
    "effect_size",
    "estimate",
    "group_difference",
    "holm",
    "mcnemar_test",
    "mean_gaps",
    "mean_interval",
    "mean_spread",
    "needed_samples",
    "normal_interval",
    "normal_quantile",
    "paired_difference",
    "paired_gaps",
    "paired_test",
    "permutation_test",
    "pooled_standard_error",
    "rank_intervals",
    "reduce_rows",
    "repeated_variance",
    "standard_error",
    "sum_interval",
    "t_interval",
    "t_quantile",
    "t_test_p_value",
    "unpaired_difference",
    "unpaired_gaps",
    "weighted_standard_error",
    "wilson_interval",
]


__getattr__ = from_homes(__name__, _HOMES)
