from dataclasses import dataclass
from typing import Any


@dataclass
class NodeSamplerInput:
    input_id: Any
    node: Any
    time: Any = None


@dataclass
class SamplerOutput:
    node: Any
    row: Any
    col: Any
    edge: Any
    batch: Any = None
    num_sampled_nodes: Any = None
    num_sampled_edges: Any = None
    metadata: Any = None


class BaseSampler:
    pass
