#!/usr/bin/env python3
"""Writes one tiny graph in every input format, as numpy and gzip write them (needs numpy).

The files are kept in the repository; run this only to change the graph. The expected store beside them
is what `plimsoll import` made of it, checked by hand against the table in README.md.
"""
import gzip
import os
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
EDGES = [(4, 1), (1, 2), (2, 4), (3, 4), (0, 4), (4, 3), (5, 5), (0, 3), (4, 1)]
FEATURES = np.array([[i + 0.5, -i, 2.0**-i] for i in range(6)], dtype=np.float32)
LABELS = np.array([np.nan, 1, 2, 1, 0, 0], dtype=np.float32)
SPLITS = {"train": [4, 3], "valid": [1], "test": [2, 5]}


def path(*parts):
    name = os.path.join(here, *parts)
    os.makedirs(os.path.dirname(name), exist_ok=True)
    return name


def write_text(name, lines, zipped=True):
    text = "".join(f"{line}\n" for line in lines).encode()
    with open(name + (".gz" if zipped else ""), "wb") as file:
        file.write(gzip.compress(text, mtime=0) if zipped else text)


def write_splits(*folder):
    for split, ids in SPLITS.items():
        write_text(path(*folder, f"{split}.csv"), ids)


edge_index = np.array(EDGES, dtype=np.int64).T.copy()
label_column = LABELS.reshape(-1, 1)
numbers = {"num_nodes_list": np.array([6]), "num_edges_list": np.array([len(EDGES)])}

for folder, save in (("ogb_npz", np.savez_compressed), ("ogb_npz_stored", np.savez)):
    save(path(folder, "raw", "data.npz"), edge_index=edge_index, node_feat=FEATURES,
         node_year=np.full((6, 1), 2020), **numbers)
    save(path(folder, "raw", "node-label.npz"), node_label=label_column)
    write_splits(folder, "split", "time")

for name, value in (("edge_index", edge_index), ("node_feat", FEATURES), ("node_label", label_column)):
    np.save(path("ogb_npy", "raw", f"{name}.npy"), value)
write_splits("ogb_npy", "split", "time")

edge_lines = [f"{a},{b}" for a, b in EDGES]
feature_lines = [",".join(repr(float(v)) for v in row) for row in FEATURES]
label_lines = ["nan" if np.isnan(v) else int(v) for v in LABELS]
for name, lines in (("edge", edge_lines), ("node-feat", feature_lines), ("node-label", label_lines),
                    ("num-node-list", [6]), ("num-edge-list", [len(EDGES)])):
    write_text(path("ogb_csv", "raw", f"{name}.csv"), lines)
write_splits("ogb_csv", "split", "time")

write_text(path("csv", "edges.csv"), ["source,destination"] + edge_lines, zipped=False)
write_text(path("csv", "features.csv"), feature_lines)
write_text(path("csv", "labels.csv"), label_lines, zipped=False)
write_splits("csv", "split")

np.savez_compressed(path("tiny.npz"), edge_index=edge_index, node_feat=FEATURES, node_label=LABELS,
                    **{f"{split}_idx": np.array(ids) for split, ids in SPLITS.items()})

# The names of PyG, with masks; edges as a list of pairs, and as numpy saves a transposed array.
masks = {f"{name}_mask": np.isin(np.arange(6), SPLITS[split])
         for name, split in (("train", "train"), ("val", "valid"), ("test", "test"))}
pyg = {"x": FEATURES, "y": np.where(np.isnan(LABELS), -1, LABELS).astype(np.int64), "num_nodes": np.array(6), **masks}
np.savez_compressed(path("pyg.npz"), edge_index=edge_index, **pyg)
np.savez_compressed(path("pyg_pairs.npz"), edge_index=np.array(EDGES), **pyg)
np.savez_compressed(path("pyg_transposed.npz"), edge_index=np.array(EDGES).T, **pyg)
np.savez_compressed(path("pyg_weighted.npz"), edge_index=edge_index, edge_weight=np.ones(len(EDGES), dtype=np.float32),
                    stopping_mask=masks["val_mask"], **pyg)
