#!/usr/bin/env python3
"""pyg_loader.py STORE [OPTIONS]: how many batches a second PyTorch Geometric trains with its own
NeighborLoader and model, on the graph of a store, all of it in memory. Needs torch and torch_geometric with
pyg-lib (written for PyG 2.8). Prints a row of a Markdown table, with the time that an epoch of
ogbn-papers100M would take at this rate. For the settings of docs/guides/comparison.md, on a graph of an
eighth of the size:

  plimsoll synth papers100M --scale 0.125 --directed --seed 1 --out eighth.plim
  bench/pyg_loader.py eighth.plim --fanout 15,10 --hidden 256 --batch-size 1024 --workers 8
  bench/pyg_loader.py eighth.plim --fanout 3,2 --hidden 16 --batch-size 128 --workers 8

with --device cpu for the rows without a GPU."""
import argparse
import json
import math
import os
import resource
import sys
import time

import numpy as np

PAPERS_TRAIN_NODES = 1_207_179  # of ogbn-papers100M


def whole_numbers(text):
    return [int(part) for part in text.split(",")]


def parse(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store")
    parser.add_argument("--model", choices=("gcn", "sage", "gat"), default="gcn")
    parser.add_argument("--fanout", type=whole_numbers, default=[15, 10], help="neighbours per hop (15,10)")
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--heads", type=int, default=8, help="of gat (8)")
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--workers", type=int, default=8, help="processes that make batches; 0: the training one (8)")
    parser.add_argument("--device", help="cuda if there is one, else cpu")
    parser.add_argument("--epochs", type=int, default=3, help="the first warms up and does not count (3)")
    args = parser.parse_args(words)
    if args.epochs < 2:
        parser.error("--epochs: at least 2, because the first warms up")
    return args


def read_store(folder):
    """Edges (source, destination), features, labels and training nodes of a store, as arrays. Its lists hold
    the sources of a node's edges, so the edges come sorted by destination, as PyG wants them."""
    with open(os.path.join(folder, "meta.json"), encoding="utf-8") as file:
        meta = json.load(file)

    def array(name, dtype):
        return np.fromfile(os.path.join(folder, name), dtype)

    offsets = array("offsets.u64", "<u8").astype(np.int64)
    edges = np.empty((2, meta["edges"]), np.int64)
    edges[0] = array("neighbors.u32", "<u4")
    edges[1] = np.repeat(np.arange(meta["nodes"]), np.diff(offsets))
    features = meta["features"]
    kind = {"f16": "<f2", "f32": "<f4"}[features["type"]]
    rows = np.memmap(os.path.join(folder, "features." + features["type"]), kind, mode="r")
    x = rows.reshape(meta["nodes"], -1)[:, :features["columns"]].astype(np.float32)  # without the padding
    return edges, x, array("labels.i32", "<i4").astype(np.int64), array("split.train.u32", "<u4").astype(np.int64)


def make_model(args, columns, classes):
    from torch_geometric.nn import GAT, GCN, GraphSAGE
    shape = {"in_channels": columns, "hidden_channels": args.hidden, "num_layers": len(args.fanout),
             "out_channels": classes, "dropout": 0.5}
    if args.model == "gat":
        return GAT(heads=args.heads, **shape)
    return {"gcn": GCN, "sage": GraphSAGE}[args.model](**shape)


def train_epoch(loader, model, adam, device):
    """The number of batches and the seconds that they took, drawing and copying included."""
    import torch
    start, batches = time.perf_counter(), 0
    for batch in loader:
        batch = batch.to(device)
        adam.zero_grad()
        out = model(batch.x, batch.edge_index)[:batch.batch_size]
        torch.nn.functional.cross_entropy(out, batch.y[:batch.batch_size]).backward()
        adam.step()
        batches += 1
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return batches, time.perf_counter() - start


def measure(args):
    import torch
    from torch_geometric.data import Data
    from torch_geometric.loader import NeighborLoader
    device = args.device or ("cuda" if torch.cuda.is_available() else "cpu")
    edges, x, y, train = read_store(args.store)
    data = Data(x=torch.from_numpy(x), edge_index=torch.from_numpy(edges), y=torch.from_numpy(y))
    loader = NeighborLoader(data, num_neighbors=args.fanout, input_nodes=torch.from_numpy(train), batch_size=args.batch_size,
                            shuffle=True, num_workers=args.workers, persistent_workers=args.workers > 0)
    torch.manual_seed(0)
    model = make_model(args, x.shape[1], int(y.max()) + 1).to(device).train()
    adam = torch.optim.Adam(model.parameters(), lr=0.01)
    epochs = [train_epoch(loader, model, adam, device) for _ in range(args.epochs)][1:]
    rate = sum(batches for batches, _ in epochs) / sum(seconds for _, seconds in epochs)
    gpu_gib = torch.cuda.max_memory_allocated() / 2**30 if device.startswith("cuda") else 0
    return device, rate, gpu_gib


def main():
    args = parse()
    try:
        import torch
        import torch_geometric
    except ImportError as error:
        sys.exit(f"pyg_loader.py needs torch and torch_geometric: {error}")
    device, rate, gpu_gib = measure(args)
    batches = math.ceil(PAPERS_TRAIN_NODES / args.batch_size)
    host_gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"torch {torch.__version__}, torch_geometric {torch_geometric.__version__}, {os.cpu_count()} CPUs")
    print("| work | on | batches/s | an epoch of papers100M | main process, GiB | GPU, GiB |")
    print("|---|---|---|---|---|---|")
    print(f"| {args.model} {args.batch_size}, {args.fanout}, {args.hidden} | {device}, {args.workers} workers | {rate:.3g} "
          f"| {batches / rate:.3g} s | {host_gib:.1f} | {gpu_gib:.1f} |")


if __name__ == "__main__":
    main()
