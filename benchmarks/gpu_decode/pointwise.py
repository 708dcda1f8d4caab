"""What a layer does between its GEMMs: norms, the gate and the rotation of positions."""

import torch
import torch.nn.functional as nn
from torch import Tensor

from fastcalc.errors import InputError

EPSILON, BASE = 1e-5, 500_000.0
"""Of the norms and of the rotation, which cost the same whatever they are."""


def norm(hidden: Tensor, weight: Tensor) -> Tensor:
    """Return the root-mean-square norm over the last dimension."""
    return nn.rms_norm(hidden, weight.shape, weight, EPSILON)


def gated(inner: Tensor) -> Tensor:
    """Return the gate's SiLU times the other half."""
    gate, up = inner.chunk(2, dim=-1)
    return nn.silu(gate) * up


def rotation(
    width: int, position: int, device: torch.device, kind: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Return cosines and sines by which a head turns at a position."""
    steps = torch.arange(0, width, 2, device=device, dtype=torch.float32) / width
    angles = (position * BASE**-steps).repeat(2)
    return angles.cos().to(kind), angles.sin().to(kind)


def rotated(heads: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Return heads turned to their position."""
    left, right = heads.chunk(2, dim=-1)
    return heads * cosines + torch.cat([-right, left], dim=-1) * sines


def fuse(device: torch.device) -> None:
    """Let torch.compile make one kernel of each of these, and try them.

    Raises
    ------
    InputError
        If it cannot, most often for want of a compiler.
    """
    for one in (norm, gated, rotated):
        globals()[one.__name__] = torch.compile(one, dynamic=True)
    sample = torch.ones(3, 8, device=device)
    try:
        norm(sample, sample[0])
        gated(sample)
        rotated(sample, sample[0], sample[0])
    except Exception as error:  # whatever a compiler may raise
        why = " ".join(str(error).split())[:200]
        raise InputError(f"torch.compile fails here; leave --fuse out: {why}") from error
