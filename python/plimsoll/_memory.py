"""Amounts of memory as people write them."""
from __future__ import annotations

import re
from typing import Optional, Union

from ._library import UsageError

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def parse_bytes(amount: Union[None, int, str]) -> int:
    """The bytes of 16 * 2**30, "16G", "16GiB" or "1.5T"; 0 for None and "auto"."""
    if amount is None or amount == "auto":
        return 0
    if isinstance(amount, bool) or not isinstance(amount, (int, str)):
        raise UsageError(f"memory={amount!r}: give a number of bytes, or text such as '16G'", "usage")
    if isinstance(amount, int):
        count = amount
    else:
        found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([KMGT]?)(i?B)?\s*", amount, re.IGNORECASE)
        if not found:
            raise UsageError(f"memory={amount!r} is not an amount of memory; write it like '16G' or '800M'", "usage")
        count = int(float(found.group(1)) * _UNITS[found.group(2).upper()])
    if count < 2**20:
        raise UsageError(f"memory={amount!r} is {count} bytes; write it like '16G' or '800M'", "usage")
    return count


def format_bytes(count: Optional[float]) -> str:
    """1536 as "1.5 KiB"."""
    if count is None:
        return "unknown"
    value, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
