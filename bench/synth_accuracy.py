#!/usr/bin/env python3
"""How hard a synthetic store is to learn: test accuracy of an MLP, a GCN and a mean SAGE.

    bench/synth_accuracy.py STORE...

Two layers of 256, batch norm, dropout 0.5, Adam (lr 0.01), 150 full-batch steps over all neighbours, test
accuracy at the best validation step. Needs torch; uses the GPU where there is one. This is how the presets'
homophily and signal were chosen; the stores must be undirected and f16.
"""
import json
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
MOST_TESTED = 50_000  # of a larger test split, a random part
ROWS_PER_STEP = 500_000


class Store:
    def __init__(self, folder):
        def array(name, dtype):
            return np.fromfile(f"{folder}/{name}", dtype)

        meta = json.load(open(f"{folder}/meta.json"))
        self.nodes, self.classes = meta["nodes"], meta["classes"]
        self.columns = meta["features"]["columns"]
        rows = array("features.f16", "f2").reshape(self.nodes, -1)[:, : self.columns]
        self.features = 4 * torch.from_numpy(rows).to(DEVICE).float()
        self.offsets = torch.from_numpy(array("offsets.u64", "i8")).to(DEVICE)
        self.neighbors = torch.from_numpy(array("neighbors.u32", "u4").astype("i8")).to(DEVICE)
        self.labels = torch.from_numpy(array("labels.i32", "i4").astype("i8")).to(DEVICE)
        self.degrees = (self.offsets[1:] - self.offsets[:-1]).float()
        train, valid, test = (
            torch.from_numpy(array(f"split.{split}.u32", "u4").astype("i8")).to(DEVICE)
            for split in ("train", "valid", "test")
        )
        test = test[torch.randperm(len(test), device=DEVICE)[:MOST_TESTED]]
        self.sizes = (len(train), len(valid), len(test))
        self.seeds = torch.cat([train, valid, test])

    def lists(self, nodes):
        """The in-neighbour lists of `nodes` as row pointers and members."""
        lengths = self.offsets[nodes + 1] - self.offsets[nodes]
        pointers = F.pad(lengths.cumsum(0), (1, 0))
        shift = torch.repeat_interleave(self.offsets[nodes] - pointers[:-1], lengths)
        return pointers, self.neighbors[torch.arange(int(pointers[-1]), device=DEVICE) + shift]

    def mean_of_neighbors(self, nodes):
        pointers, members = self.lists(nodes)
        ones = torch.ones(len(members), device=DEVICE)
        sums = torch.sparse_csr_tensor(pointers, members, ones, (len(nodes), self.nodes)) @ self.features
        return sums / self.degrees[nodes].clamp(min=1)[:, None]

    def gcn_sum(self, nodes):
        weights = (self.degrees + 1).rsqrt()
        pointers, members = self.lists(nodes)
        matrix = torch.sparse_csr_tensor(pointers, members, weights[members], (len(nodes), self.nodes))
        own = weights[nodes][:, None]
        return 3 * own * (matrix @ self.features + own * self.features[nodes])


class TwoLayers(nn.Module):
    """Layer 1 gets its neighbours' features already aggregated; layer 2 aggregates with `matrix`."""

    def __init__(self, columns, classes, width):
        super().__init__()
        self.first = nn.Linear(columns, 256)
        self.norm = nn.BatchNorm1d(256)
        self.second = nn.Linear(256 * width, classes)

    def forward(self, inputs, matrix, roots):
        hidden = F.dropout(F.relu(self.norm(self.first(inputs))), 0.5, self.training)
        if matrix is None:
            return self.second(hidden)
        gathered = torch.sparse.mm(matrix, hidden)
        return self.second(gathered if roots is None else torch.cat([gathered, hidden[roots]], 1))


def prepare(store, kind):
    if kind == "mlp":
        return store.features[store.seeds], None, None
    pointers, members = store.lists(store.seeds)
    needed = torch.unique(torch.cat([members, store.seeds]))
    place = torch.full((store.nodes,), -1, device=DEVICE)
    place[needed] = torch.arange(len(needed), device=DEVICE)
    pieces = needed.split(ROWS_PER_STEP)
    count = torch.arange(len(store.seeds), device=DEVICE)
    rows = torch.repeat_interleave(count, pointers[1:] - pointers[:-1])
    if kind == "sage":
        inputs = torch.cat([torch.cat([store.mean_of_neighbors(p), store.features[p]], 1) for p in pieces])
        weights = 1 / store.degrees[store.seeds].clamp(min=1)[rows]
        shape = (len(store.seeds), len(needed))
        return inputs, torch.sparse_csr_tensor(pointers, place[members], weights, shape), place[store.seeds]
    inputs = torch.cat([store.gcn_sum(p) for p in pieces])
    rows = torch.cat([rows, count])
    columns = torch.cat([place[members], place[store.seeds]])
    scale = (store.degrees + 1).rsqrt()
    weights = scale[store.seeds][rows] * scale[needed][columns]
    shape = (len(store.seeds), len(needed))
    return inputs, torch.sparse_coo_tensor(torch.stack([rows, columns]), weights, shape).coalesce(), None


def accuracy(store, kind, steps=150):
    inputs, matrix, roots = prepare(store, kind)
    torch.manual_seed(0)
    model = TwoLayers(inputs.shape[1], store.classes, 2 if kind == "sage" else 1).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-5)
    train, valid, _ = store.sizes
    labels = store.labels[store.seeds]
    best_valid, best_test = 0.0, 0.0
    for step in range(1, steps + 1):
        model.train()
        loss = F.cross_entropy(model(inputs, matrix, roots)[:train], labels[:train])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            model.eval()
            with torch.no_grad():
                right = (model(inputs, matrix, roots).argmax(1) == labels).float()
            on_valid = right[train : train + valid].mean().item()
            if on_valid > best_valid:
                best_valid, best_test = on_valid, right[train + valid :].mean().item()
    return best_test


if __name__ == "__main__":
    print("| store | mlp | gcn | sage |\n|---|---|---|---|")
    for folder in sys.argv[1:]:
        store = Store(folder)
        scores = " | ".join(f"{100 * accuracy(store, kind):.1f}" for kind in ("mlp", "gcn", "sage"))
        print(f"| {folder} | {scores} |", flush=True)
