"""Arrays from what users have: NumPy's, torch's, PyG's."""
from __future__ import annotations

from typing import Any

import numpy as np


def to_numpy(values: Any) -> np.ndarray:
    """A NumPy view of an array or a CPU tensor; copies only what NumPy cannot view."""
    if hasattr(values, "as_tensor"):  # PyG's EdgeIndex and Index, which have no memory of their own
        values = values.as_tensor()
    if hasattr(values, "detach"):
        values = values.detach()
        if values.device.type != "cpu":
            values = values.cpu()
        if str(values.dtype) == "torch.bfloat16":
            values = values.float()
        return values.numpy()
    return np.asarray(values)
