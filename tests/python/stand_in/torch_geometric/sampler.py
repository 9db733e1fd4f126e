from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any


@dataclass
class NodeSamplerInput:
    input_id: Any
    node: Any
    time: Any = None
    input_type: Any = None


@dataclass
class SamplerOutput:
    node: Any
    row: Any
    col: Any
    edge: Any
    batch: Any = None
    num_sampled_nodes: Any = None
    num_sampled_edges: Any = None
    orig_row: Any = None
    orig_col: Any = None
    metadata: Any = None


class BaseSampler(ABC):
    @abstractmethod
    def sample_from_nodes(self, inputs, **options): ...

    @abstractmethod
    def sample_from_edges(self, inputs, neg_sampling=None): ...

    @property
    def edge_permutation(self):
        return None
