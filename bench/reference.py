#!/usr/bin/env python3
"""bench/reference.py FOLDER full|sampled gcn|sage [OPTIONS]: the models of bench/accuracy.sh in plain
PyTorch.

Written apart from Plimsoll's own layers, sampler and loop, with the same hyperparameters, so that a
difference of accuracies can be told from the luck of a few seeds. Reads the OGB folders with a raw/data.npz;
uses a GPU if there is one.
"""
import argparse
import gzip
import math
import os
import statistics

import numpy as np
import torch
import torch.nn.functional as F

DEVICE = 'cuda' if torch.cuda.is_available() else 'cpu'


def load(folder):
    data = np.load(os.path.join(folder, 'raw', 'data.npz'))
    label = np.load(os.path.join(folder, 'raw', 'node-label.npz'))['node_label'].reshape(-1)
    [split] = os.listdir(os.path.join(folder, 'split'))

    def ids(name):
        with gzip.open(os.path.join(folder, 'split', split, name + '.csv.gz'), 'rt') as lines:
            return torch.tensor([int(line) for line in lines], device=DEVICE)

    source, target = data['edge_index'].astype(np.int64)
    n = len(label)
    # Reverse edges added, duplicates and self-loops dropped, sorted by destination.
    keys = np.unique(np.concatenate([target * n + source, source * n + target]))
    keys = keys[keys // n != keys % n]
    x = torch.tensor(data['node_feat'].astype(np.float32), device=DEVICE)
    y = torch.tensor(np.nan_to_num(label.astype(np.float64), nan=-1).astype(np.int64), device=DEVICE)
    edges = torch.tensor(np.stack([keys // n, keys % n]), device=DEVICE)
    return x, y, edges, {name: ids(name) for name in ('train', 'valid', 'test')}


class Edges:
    """A weighted sum along edges (destination, source); the weights are the model's."""

    def __init__(self, model, edges, n):
        to, come = edges
        if model == 'gcn':
            loop = torch.arange(n, device=DEVICE)
            to, come = torch.cat([to, loop]), torch.cat([come, loop])
            degree = torch.bincount(to, minlength=n).float()
            weight = (degree[to] * degree[come]).rsqrt()
        else:
            weight = 1 / torch.bincount(to, minlength=n).float()[to]
        self.matrix = torch.sparse_coo_tensor(torch.stack([to, come]), weight, (n, n)).coalesce()

    def __call__(self, x):
        return torch.sparse.mm(self.matrix, x)


class Net(torch.nn.Module):
    def __init__(self, model, widths, dropout):
        super().__init__()
        self.dropout = dropout
        sage = model == 'sage'
        pairs = list(zip(widths, widths[1:]))
        self.near = torch.nn.ModuleList(torch.nn.Linear(a, b) for a, b in pairs)
        self.own = torch.nn.ModuleList(torch.nn.Linear(a, b, bias=False) for a, b in pairs) if sage else None
        if not sage:
            for linear in self.near:
                torch.nn.init.xavier_uniform_(linear.weight)
                torch.nn.init.zeros_(linear.bias)

    def start_from(self, checkpoint):
        state = torch.load(checkpoint, map_location=DEVICE)['model_state_dict']
        near = 'lin' if self.own is None else 'lin_l'
        with torch.no_grad():
            for i, linear in enumerate(self.near, 1):
                linear.weight.copy_(state[f'conv{i}.{near}.weight'])
                linear.bias.copy_(state[f'conv{i}.bias' if self.own is None else f'conv{i}.lin_l.bias'])
                if self.own is not None:
                    self.own[i - 1].weight.copy_(state[f'conv{i}.lin_r.weight'])

    def forward(self, x, edges):
        for i, near in enumerate(self.near):
            if i > 0:
                x = F.dropout(F.relu(x), self.dropout, self.training)
            # The bias comes after the sum; a sage node without neighbours has the bias alone.
            out = edges(F.linear(x, near.weight)) + near.bias
            x = out + self.own[i](x) if self.own is not None else out
        return x


class Sampler:
    """Uniform draws without replacement; the block of all hops is one graph, as PyTorch Geometric's loader
    makes it."""

    def __init__(self, edges, n):
        self.count = torch.bincount(edges[0], minlength=n)
        self.begin = torch.cumsum(self.count, 0) - self.count
        self.source = edges[1]
        self.place = torch.full((n,), -1, device=DEVICE)

    def draw(self, seeds, fanout):
        nodes, frontier = seeds, seeds
        self.place[seeds] = torch.arange(len(seeds), device=DEVICE)
        pairs = []
        for k in fanout:
            count = self.count[frontier]
            owner = torch.repeat_interleave(torch.arange(len(frontier), device=DEVICE), count)
            first = torch.cumsum(count, 0) - count
            within = torch.arange(len(owner), device=DEVICE) - first[owner]
            order = torch.argsort(owner + torch.rand(len(owner), device=DEVICE, dtype=torch.float64) * 0.999)
            chosen = order[within < k]  # `order` keeps owners together, so `within` is the rank by lot
            to = frontier[owner[chosen]]
            come = self.source[self.begin[to] + within[chosen]]
            fresh = torch.unique(come[self.place[come] < 0])
            self.place[fresh] = torch.arange(len(nodes), len(nodes) + len(fresh), device=DEVICE)
            nodes, frontier = torch.cat([nodes, fresh]), fresh
            pairs.append(torch.stack([self.place[to], self.place[come]]))
        self.place[nodes] = -1
        return nodes, torch.cat(pairs, 1)


def run(args, seed, x, y, edges, split):
    torch.manual_seed(seed)
    arxiv = len(x) > 100000
    hidden, decay = (128, 0) if arxiv else (64, 5e-4)
    lr, epochs, size = (0.01, 200, len(x)) if args.how == 'full' else (0.003, 10, 1024) if arxiv else (0.01, 60, 64)
    net = Net(args.model, [x.shape[1], hidden, int(y.max()) + 1], args.dropout).to(DEVICE)
    if args.start:
        net.start_from(args.start)
    adam = torch.optim.Adam(net.parameters(), lr=lr, weight_decay=decay)
    whole = Edges(args.model, edges, len(x))
    sampler = Sampler(edges, len(x))
    best = (-1, 0)
    for epoch in range(args.epochs or epochs):
        net.train()
        train = split['train']
        for seeds in train[torch.randperm(len(train), device=DEVICE)].split(size):
            if args.how == 'full':
                out = net(x, whole)[seeds]
            else:
                nodes, block = sampler.draw(seeds, (10, 5))
                out = net(x[nodes], Edges(args.model, block, len(nodes)))[:len(seeds)]
            adam.zero_grad()
            loss = F.cross_entropy(out, y[seeds])
            loss.backward()
            adam.step()
        if args.start:
            print(f'epoch {epoch + 1} loss {loss.item():.4f}')
        net.eval()
        with torch.no_grad():
            right = (net(x, whole).argmax(1) == y).float()
        best = max(best, (right[split['valid']].mean().item(), right[split['test']].mean().item()),
                   key=lambda pair: pair[0])
    return best[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('folder')
    parser.add_argument('how', choices=('full', 'sampled'))
    parser.add_argument('model', choices=('gcn', 'sage'))
    parser.add_argument('--seeds', type=int, default=10)
    parser.add_argument('--epochs', type=int, help="default: bench/accuracy.sh's")
    parser.add_argument('--dropout', type=float, default=0.5)
    parser.add_argument('--start', help='a checkpoint of Plimsoll to start from, printing the losses')
    args = parser.parse_args()
    data = load(args.folder)
    found = [run(args, seed, *data) for seed in range(args.seeds)]
    spread = statistics.stdev(found) if len(found) > 1 else math.nan
    print(f'{os.path.basename(os.path.normpath(args.folder))} {args.how} {args.model}: '
          f'{statistics.mean(found):.4f} ± {spread:.4f} over {args.seeds} seeds:', *(f'{v:.3f}' for v in found))


if __name__ == '__main__':
    main()
