"""What a deployment must do: the service level, the rate, and what is to be least."""

from dataclasses import dataclass
from math import inf
from typing import Literal

Objective = Literal["usd", "watts", "chips"]

NEAR = 2.0  # a miss by less than this is near


@dataclass(frozen=True)
class Service:
    """What is asked of a deployment.

    prompt, output : tokens in and out of a request [1]
    ttft, tpot : most time to the first token and between two tokens; infinity for any [s]
    rate : requests that arrive a second; None for one deployment whatever its rate [1/s]
    max_chips, utilization : chips there are, and the share of its capacity a replica is to do [1]
    objective : what is to be least; without a rate, dollars a million tokens or joules a token
    is_speed : True where the time between tokens was asked as a speed
    share : share of requests that must meet ``ttft`` where they arrive at random; else None [1]
    prefix_hit : share of a prompt that is found in the prefix cache, of prompt replicas, too [1]
    any_weights, any_cache : whether weights and caches of fewer bits than published may come first
    """

    prompt: float
    output: float
    ttft: float = inf
    tpot: float = inf
    rate: float | None = None
    max_chips: float = inf
    utilization: float = 1.0
    objective: Objective = "usd"
    is_speed: bool = False
    share: float | None = None
    prefix_hit: float = 0.0
    any_weights: bool = True
    any_cache: bool = True
