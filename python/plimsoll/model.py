"""Models that ``plimsoll train`` has trained, for Python."""
from __future__ import annotations

import os
import pathlib
from typing import Any, Dict, Union

from ._batch import import_pyg, import_torch
from ._library import PlimsollError, UsageError
from .program import seed_folders


def _read(torch: Any, path: str) -> Dict[str, Any]:
    """The checkpoint as a dict. From torch 2 on, no code of the file is run."""
    safely = {"weights_only": True} if int(torch.__version__.split(".")[0]) >= 2 else {}
    checkpoint = torch.load(path, map_location="cpu", **safely)
    if not isinstance(checkpoint, dict) or "plimsoll_checkpoint" not in checkpoint:
        raise UsageError(f"{path} is not a checkpoint of plimsoll train", "usage")
    return checkpoint


def _convolutions(kind: str) -> Any:
    if kind == "mlp":
        return None
    pyg = import_pyg()
    if pyg is None:
        raise PlimsollError(
            f"a {kind} model needs torch_geometric, which is not installed here; install it, or predict with "
            "`plimsoll predict`, which does not need it", "input")
    import torch_geometric.nn as layers
    return layers


def _checkpoint_in(path: pathlib.Path) -> pathlib.Path:
    """The checkpoint that a path means: a file, or the best one of a training's folder."""
    if not path.is_dir():
        return path
    for name in ("best.pth", "last.pth"):
        if (path / name).exists():
            return path / name
    seeds = seed_folders(path)
    if seeds:
        raise UsageError(f"{path} has trainings of {len(seeds)} seeds; name one, such as {seeds[0]}, or take the best with "
                         f"load(results({str(path)!r}).checkpoint)", "usage")
    raise UsageError(f"{path} has no checkpoint; name the folder of a training, or a file such as best.pth", "usage")


def load(checkpoint: Union[str, "os.PathLike[str]"]) -> Any:
    """A ``torch.nn.Module`` of PyG layers with the weights of a checkpoint (``best.pth``, or the folder of a
    training), in evaluation mode.

    ``model(x, edge_index)`` returns the logits. gcn, sage and gat need torch_geometric; mlp does not.
    """
    torch = import_torch()
    if torch is None:
        raise PlimsollError("load needs torch, which is not installed here", "input")
    read = _read(torch, os.fspath(_checkpoint_in(pathlib.Path(checkpoint))))
    kind, layers = read["model"], int(read["num_layers"])
    widths = [int(read["input_dim"])] + [int(read["hidden_dim"])] * (layers - 1) + [int(read["output_dim"])]
    heads, dropout, batch_norm = int(read["heads"]), float(read["dropout"]), bool(read["batch_norm"])
    convolutions = _convolutions(kind)

    def layer(i: int) -> Any:
        inputs, outputs, last = widths[i], widths[i + 1], i + 1 == layers
        if kind == "mlp":
            return torch.nn.Linear(inputs, outputs)
        if kind == "gcn":
            return convolutions.GCNConv(inputs, outputs)
        if kind == "sage":
            return convolutions.SAGEConv(inputs, outputs)
        if last:
            return convolutions.GATConv(inputs, outputs, heads=1)
        return convolutions.GATConv(inputs, outputs // heads, heads=heads)

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for i in range(layers):
                self.add_module(f"{'lin' if kind == 'mlp' else 'conv'}{i + 1}", layer(i))
                if batch_norm and i + 1 < layers:
                    self.add_module(f"bn{i + 1}", torch.nn.BatchNorm1d(widths[i + 1]))

        def inference_per_layer(self, i: int, x: Any, edge_index: Any, batch_size: Any = None) -> Any:
            """One layer with what follows it; of the first ``batch_size`` nodes."""
            x = getattr(self, f"lin{i + 1}")(x) if kind == "mlp" else getattr(self, f"conv{i + 1}")(x, edge_index)
            if batch_size is not None:
                x = x[:batch_size]
            if i + 1 == layers:
                return x
            if batch_norm:
                x = getattr(self, f"bn{i + 1}")(x)
            return torch.nn.functional.dropout(torch.relu(x), dropout, self.training)

        def forward(self, x: Any, edge_index: Any = None) -> Any:
            for i in range(layers):
                x = self.inference_per_layer(i, x, edge_index)
            return x

    net = Net()
    net.num_layers = layers
    net.load_state_dict(read["model_state_dict"])
    return net.eval()
