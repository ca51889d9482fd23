"""Quantiles and tails of the t and the beta distribution, from ``scipy.special``."""

from __future__ import annotations

from scipy import special


def t_quantile(probability: float, df: float) -> float:
    return float(special.stdtrit(df, probability))


def t_upper_tail(value: float, df: float) -> float:
    """P(T > value)."""
    return float(special.stdtr(df, -value))


def beta_quantile(probability: float, a: float, b: float) -> float:
    return float(special.betaincinv(a, b, probability))
