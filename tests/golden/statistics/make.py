#!/usr/bin/env python3
"""Prints samples and what SciPy computes from them, as JSON (needs Debian's python3-scipy; exits with 77
without it).

    make.py >values.json     the values that are kept here
    make.py 7                other samples, for the test that asks SciPy itself
"""
import json
import math
import sys

try:
    import numpy as np
    from scipy import special, stats
except ImportError:
    sys.exit(77)

random = np.random.default_rng(int(sys.argv[1]) if len(sys.argv) > 1 else 18)


def samples():
    """Pairs of samples: small and large, normal and skewed, with and without ties, near and far."""
    sizes = [(2, 2), (2, 5), (3, 3), (3, 8), (4, 6), (5, 5), (5, 40), (8, 9), (9, 9), (11, 12), (20, 30), (60, 45)]
    for a, b in sizes:
        yield random.normal(0.9, 0.01, a), random.normal(0.91, 0.03, b)
        yield random.exponential(100, a), random.exponential(150, b) + 40
        yield random.integers(0, 6, a) / 4 + np.arange(a) * 1e-3 * (a < 4), random.integers(1, 7, b) / 4 + np.arange(b) * 1e-3 * (b < 4)
        yield random.normal(1e-5, 1e-6, a), random.normal(2e-5, 1e-6, b)


def pair(a, b):
    welch = stats.ttest_ind(a, b, equal_var=False)
    va, vb = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    degrees = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
    margin = stats.t.ppf(0.975, degrees) * math.sqrt(va + vb)
    difference = a.mean() - b.mean()
    whitney = stats.mannwhitneyu(a, b)
    freedom = len(a) + len(b) - 2
    pooled = math.sqrt(((len(a) - 1) * a.var(ddof=1) + (len(b) - 1) * b.var(ddof=1)) / freedom)
    small = special.gamma(freedom / 2) / (math.sqrt(freedom / 2) * special.gamma((freedom - 1) / 2))
    return {
        "a": a.tolist(), "b": b.tolist(),
        "mean": a.mean(), "deviation": a.std(ddof=1),
        "t": welch.statistic, "t_p": welch.pvalue, "degrees": degrees,
        "low": difference - margin, "high": difference + margin,
        "u": whitney.statistic, "u_p": whitney.pvalue,
        "g": small * difference / pooled,
        "rank_biserial": 2 * whitney.statistic / (len(a) * len(b)) - 1,
        "ranks": stats.rankdata(np.concatenate([a, b])).tolist(),
    }


def normality():
    for count in (3, 4, 5, 6, 7, 10, 11, 12, 13, 25, 50, 200):
        for values in (random.normal(3, 2, count), random.exponential(2, count), random.uniform(0, 1, count) * 1e-4,
                       random.integers(0, 9, count) + np.arange(count) / 64):
            w, p = stats.shapiro(values)
            yield {"values": values.tolist(), "w": float(w), "p": float(p)}


def power(difference, deviation, count):
    degrees, shift = 2 * count - 2, abs(difference) / deviation * math.sqrt(count / 2)
    critical = stats.t.ppf(0.975, degrees)
    return stats.nct.sf(critical, degrees, shift) + stats.nct.cdf(-critical, degrees, shift)


def repeats():
    for difference, deviation in ((3, 1), (1, 1), (0.5, 1), (0.2, 1), (-0.01, 0.004), (10, 17)):
        count = 2
        while power(difference, deviation, count) < 0.8:
            count += 1
        yield {"difference": difference, "deviation": deviation, "repeats": count, "power": power(difference, deviation, count)}


def variance():
    for sizes in ((2, 2), (3, 4, 5), (10, 2, 7, 5), (30, 30)):
        groups = [random.normal(i * 0.4, 1, size) for i, size in enumerate(sizes)]
        f, p = stats.f_oneway(*groups)
        yield {"groups": [group.tolist() for group in groups], "f": f, "p": p}


json.dump({
    "scipy": __import__("scipy").__version__,
    "normal": [{"z": z, "cdf": stats.norm.cdf(z), "survival": stats.norm.sf(z)} for z in (-8, -3.3, -1, 0, 0.2, 1.96, 5, 12)],
    "normal_quantile": [{"p": p, "z": stats.norm.ppf(p)} for p in (1e-12, 0.001, 0.02, 0.3, 0.5, 0.62, 0.975, 0.9999)],
    "student": [{"t": t, "degrees": d, "cdf": stats.t.cdf(t, d)} for t in (-4.5, -1, 0, 0.3, 2.2, 30) for d in (1, 1.7, 4, 33.3, 1000)],
    "student_quantile": [{"p": p, "degrees": d, "t": stats.t.ppf(p, d)} for p in (0.001, 0.2, 0.5, 0.9, 0.975, 0.9995) for d in (1, 1.3, 2, 8.5, 100, 1e6)],
    "noncentral": [{"t": t, "degrees": d, "shift": s, "cdf": stats.nct.cdf(t, d, s)} for t in (-2, 0.5, 2.3, 6) for d in (2, 8, 50) for s in (0, 0.7, 2.8, 6)],
    "beta": [{"a": a, "b": b, "x": x, "value": special.betainc(a, b, x)} for a in (0.5, 2, 40) for b in (0.5, 3.5, 80) for x in (0.01, 0.3, 0.5, 0.97)],
    "pairs": [pair(np.asarray(a, float), np.asarray(b, float)) for a, b in samples()],
    "normality": list(normality()),
    "repeats": list(repeats()),
    "variance": list(variance()),
}, sys.stdout, indent=None, separators=(",", ":"))
print()
