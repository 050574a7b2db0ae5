"""Writes reference.json: numbers that the crate's functions must reproduce, from SciPy, statsmodels
and ruptures.

    python3 make.py > reference.json      (wants scipy, statsmodels, ruptures; a minute)
"""

import json
import sys
from importlib.metadata import version

import numpy as np
import ruptures
import scipy
import statsmodels
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestIndPower, TTestPower
from statsmodels.stats.weightstats import ttost_ind, ttost_paired

rng = np.random.default_rng(20261122)
SIDES = ["less", "greater", "two-sided"]


def floats(values):
    return [float(value) for value in values]


def sides(test):
    """Returns a test's p-values for the three alternatives."""
    return {side.replace("-", "_"): float(np.real(test(side))) for side in SIDES}


def pairs_of_samples():
    """Yields pairs of samples: small and large, equal and unequal in size; without ties, with some,
    with many.
    """
    for left, right in [(3, 3), (5, 5), (4, 7), (8, 3), (1, 6), (10, 10), (30, 30)]:
        for decimals in [15, 1, 0]:
            shift = rng.choice([0.0, 1.0])
            yield (rng.normal(10 + shift, 1.5, left).round(decimals),
                   rng.normal(10, 1, right).round(decimals))


def mann_whitney():
    for left, right in pairs_of_samples():
        ties = len(set(left) | set(right)) < len(left) + len(right)
        small = len(left) + len(right) <= 14 and min(len(left), len(right)) > 1  # wants two
        case = {"left": floats(left), "right": floats(right)}
        case["u"] = float(stats.mannwhitneyu(left, right)[0])

        def by(method):
            return sides(lambda side: stats.mannwhitneyu(
                left, right, alternative=side, method=method).pvalue)

        case["asymptotic"] = by("asymptotic")
        if not ties:
            case["exact"] = by("exact")
        elif small:
            case["exact"] = by(stats.PermutationMethod(n_resamples=np.inf))
        yield case


def signed_rank():
    for n in [3, 6, 10, 14, 30, 60]:
        for decimals in [15, 1, 0]:
            differences = rng.normal(0.4, 1.2, n).round(decimals)
            nonzero = differences[differences != 0]
            if len(nonzero) < 2:
                continue
            ties = len(set(abs(nonzero))) < len(nonzero)
            test = stats.wilcoxon(nonzero, alternative="greater", method="asymptotic")
            case = {"differences": floats(differences), "positive_ranks": float(test.statistic)}

            def by(method, **options):
                return sides(lambda side: stats.wilcoxon(
                    nonzero, alternative=side, method=method, **options).pvalue)

            case["asymptotic"] = by("asymptotic", correction=True)
            if not ties:
                case["exact"] = by("exact")
            elif len(nonzero) <= 13:
                case["exact"] = by(stats.PermutationMethod(n_resamples=np.inf))
            yield case


def t_test(test, equivalence, left, right):
    result = test("two-sided")
    interval = result.confidence_interval(0.95)
    return {
        "left": floats(left), "right": floats(right), "degrees_of_freedom": float(result.df),
        "low": float(interval.low), "high": float(interval.high),
        "tails": sides(lambda side: test(side).pvalue),
        "margin": 1.5, "equivalence": float(equivalence(1.5)),
    }


def welch():
    for left, right in pairs_of_samples():
        if min(len(left), len(right)) < 2:
            continue
        yield t_test(lambda side: stats.ttest_ind(left, right, equal_var=False, alternative=side),
                     lambda margin: ttost_ind(left, right, -margin, margin, usevar="unequal")[0],
                     left, right)


def paired():
    for n in [2, 3, 5, 10, 30]:
        left, right = rng.normal(10, 2, n), rng.lognormal(2.2, 0.3, n)
        yield t_test(lambda side: stats.ttest_rel(left, right, alternative=side),
                     lambda margin: ttost_paired(left, right, -margin, margin)[0], left, right)


def student():
    for degrees in [1, 1.3, 2, 4, 9.7, 29, 300]:
        for alpha in [0.5, 0.05, 0.01, 1e-4, 1e-9]:
            value = float(stats.t.isf(alpha / 2, degrees))
            yield {"degrees_of_freedom": degrees, "alpha": alpha, "value": value}


def multiplicity():
    chosen = np.array([0.01, 0.01, 0.04, 0.5, 1.0, 0.0])
    for p_values in [rng.beta(0.3, 2, 12), chosen, rng.uniform(size=40)]:
        yield {
            "p_values": floats(p_values),
            "holm": floats(multipletests(p_values, method="holm")[1]),
            "benjamini_hochberg": floats(stats.false_discovery_control(p_values)),
        }


def power():
    for n in [3, 5, 10, 30, 200]:
        for effect in [0.2, 0.8, 2.5]:
            powers = {"paired": float(TTestPower().power(effect, n, 0.05)),
                      "unpaired": float(TTestIndPower().power(effect, n, 0.05))}
            # SciPy's noncentral t returns NaN for a power that rounds to 1.
            if not any(np.isnan(power) for power in powers.values()):
                yield {"n": n, "effect": effect, "alpha": 0.05, **powers}


def change_points():
    for n in [20, 60, 150]:
        for penalty in [2.0, 10.0]:
            levels = np.repeat(rng.normal(0, 2, 5), n // 5)
            series = (levels + rng.normal(0, 0.7, len(levels))).round(6)
            ends = ruptures.Pelt(model="l2", min_size=2, jump=1).fit(series).predict(pen=penalty)
            cuts = [int(end) for end in ends[:-1]]
            yield {"series": floats(series), "penalty": penalty, "cuts": cuts}


def others():
    series = rng.normal(100, 5, 20)
    return {
        "values": floats(series),
        "geometric_mean": float(stats.gmean(series)),
        "slope": float(abs(np.polyfit(np.arange(20), series, 1)[0])),
        "max_mean_deviation": float(np.max(np.abs(series - series.mean()))),
    }


versions = {"scipy": scipy.__version__, "statsmodels": statsmodels.__version__,
            "ruptures": version("ruptures"), "numpy": np.__version__}
tables = [mann_whitney, signed_rank, welch, paired, student, multiplicity, power, change_points]
lines = [f'"made_by": {json.dumps(versions)}']
for table in tables:
    cases = ",\n  ".join(json.dumps(case) for case in table())
    lines.append(f'"{table.__name__}": [\n  {cases}\n]')
lines.append(f'"others": {json.dumps(others())}')
sys.stdout.write("{" + ",\n".join(lines) + "}\n")
