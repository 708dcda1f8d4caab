"""A shell script that starts the servers of a plan, with expected performance in comments."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING

from fastcalc import __version__
from fastcalc.catalogue.schema import Model
from fastcalc.core.chip.reserve import start_rows
from fastcalc.core.outcome import solve
from fastcalc.core.placement.layout import HOST_CHIPS
from fastcalc.core.scenario import Scenario
from fastcalc.errors import InputError
from fastcalc.features.plan.decision import Plan
from fastcalc.features.plan.phrases import chips_and_price, cut
from fastcalc.features.plan.ranked_plan import tpot_range
from fastcalc.features.plan.records import commands_of
from fastcalc.features.plan.servers.programs import PROGRAMS
from fastcalc.features.plan.servers.server import Program, Role, Server, checkpoint_of
from fastcalc.features.plan.service import Service
from fastcalc.kit.answer.numbers_as_text import number, stated_percent
from fastcalc.kit.request.draft_models import EAGLE_HEAD
from fastcalc.mentions import option
from fastcalc.quoting import ShellText, comment, shell_word
from fastcalc.written import many

if TYPE_CHECKING:
    from fastcalc.features.plan.answer import PlanAnswer


@dataclass(frozen=True)
class PoolOnHost:
    """One of several pools, and how many of its servers a host starts.

    index : The number of the pool, from 1.
    servers : The servers per host, unless the user sets another number.
    """

    index: int
    servers: int


def scripts(planned: "PlanAnswer", program: str) -> str:
    """Build the script that starts the servers of all pools.

    Servers of several pools run in the background, on consecutive chips and ports.
    """
    pools = [pool for _, pool in planned.pools]
    hosts = _pools_on_host([pool.plan for pool in pools]) if len(pools) > 1 else [None]
    sections = [
        script(
            program,
            pool.plan,
            pool.decision.service,
            planned.model_name(pool),
            commands_of(pool.plan, planned.typed),
            None if planned.is_of_one_class else _first_tokens(planned, index),
            host,
        )
        for index, (pool, host) in enumerate(zip(pools, hosts, strict=True), 1)
    ]
    if len(pools) == 1:
        return sections[0]
    told = comment(
        f"{many(len(pools), 'pool')}: run this on each host, with the number of its servers of "
        f"pool 1 as {_SERVERS}_1, of pool 2 as {_SERVERS}_2 and so on (0 if it has none)"
    )
    return "\n".join([told, f"{_first_port(PROGRAMS[program])}\n", *sections, "wait\n"])


def _pools_on_host(plans: Sequence[Plan]) -> list[PoolOnHost]:
    """Fill a host with servers of the first pool, then of others on the same chip type."""
    free, pools = HOST_CHIPS, []
    for index, plan in enumerate(plans, 1):
        chips = min(plan.layout.chips, HOST_CHIPS)
        is_same = plan.scenario.hardware.id == plans[0].scenario.hardware.id
        servers = min(int(plan.replicas), free // chips) if is_same else 0
        free -= servers * chips
        pools.append(PoolOnHost(index, servers))
    return pools


def _first_tokens(planned: "PlanAnswer", index: int) -> str | None:
    """Describe the TTFT of each class in a pool, as in its table."""
    served = [served for served in planned.served if served.pool == index]
    times = [(each.request_class.name, each.percentiles) for each in served if each.percentiles]
    if len(times) < len(served):
        return None
    words = [f"{name} {number(spread.ttft.percentiles[-1] * 1e3)} ms" for name, spread in times]
    return f" of 99% within: {', '.join(words)}"


def script(
    program: str,
    plan: Plan,
    service: Service,
    name: str,
    commands: Sequence[str],
    first_tokens: str | None = None,
    pool: PoolOnHost | None = None,
) -> str:
    """Build the script that starts the servers of a plan.

    name : The name of the model, as the user typed it.
    commands : The commands that print the expected performance.
    first_tokens : TTFT in words, or None for the TTFT compared with its limit.
    pool : The pool of these servers, if the script starts several pools.

    Raises InputError if the plan offloads weights or caches to host memory, or if the program does
    not support the cache format or cannot serve the plan.
    """
    engine = plan.scenario.engine
    starter = PROGRAMS[program]
    if starter.engine != engine.program:
        raise InputError(
            f"{option('emit', program)} writes commands of {starter.engine}, but the plan uses "
            f"{engine.id}; omit {option('engine')}"
        )
    if plan.scenario.memory.host is not None:
        raise InputError(
            f"{option('emit', program)} starts servers without offloading to a host; "
            f"omit {option('host')}"
        )
    cache = plan.scenario.work.kv_format
    if cache not in starter.caches:
        raise InputError(
            f"{option('emit', program)}: {engine.name} keeps no cache in {cache}; "
            f"{option('kv')} takes {', '.join(starter.caches)}"
        )
    starter.refuse(plan)
    lines = [*map(comment, _expected(plan, service, name, first_tokens)), *map(comment, commands)]
    if plan.prefill_layout is not None:
        lines.append(
            comment("prefill and decode servers run on hosts of their own: start each there")
        )
        lines += ["", *_servers(starter, plan, "prefill", name, pool)]
        lines += ["", *_servers(starter, plan, "decode", name, pool)]
        *router, last = starter.router(plan, f"-{pool.index}" if pool else "")
        lines += ["", *router, last if pool is None or last.startswith("#") else f"{last} &"]
    else:
        lines += ["", *_servers(starter, plan, "all", name, pool)]
        lines += ["wait"] if pool is None and lines[-1] == "done" else []
    return "\n".join(lines) + "\n"


_LONG_WAIT = 10.0  # times as long as a request that waits for nobody has no token yet


def _expected(plan: Plan, service: Service, name: str, first_tokens: str | None) -> Iterator[str]:
    engine, chip = plan.scenario.engine, plan.scenario.hardware
    taking = plan.prefill_scenario
    prompts = f" ({plan.prefill_chips:,.0f} of them {taking.hardware.id})" if taking else ""
    yield f"{chips_and_price(plan, service)} of {chip.id}{prompts} for {name}"
    ends = tpot_range(plan)
    range_ = f" ({number(ends[0] * 1e3)} to {number(ends[1] * 1e3)})" if ends else ""
    first, tpot = (number(plan.values[key] * 1e3) for key in ("ttft", "tpot"))
    chips = "For chips as slow as requested" if service.deviations else "Expected"
    share = f" of {stated_percent(service.claimed_share)} within" if service.claimed_share else ""
    sequences = f"up to {many(int(plan.batch), 'sequence')} in flight on each"
    yield f"{chips}, with {sequences}: TPOT{share} {tpot} ms{range_},"
    yield f"first token{first_tokens or f'{share} {first} ms'};"
    if plan.values["ttft"] > _LONG_WAIT * float(plan.replica.estimate.ttft[0]):
        yield "most of it queueing, which a lower TTFT limit or more chips would reduce;"
    yield f"{engine.name} as of {engine.date}, fastcalc {__version__}:"


_WORK = {"all": "prefill and decode", "prefill": "prefill", "decode": "decode"}


def _servers(
    program: Program, plan: Plan, role: Role, name: str, pool: PoolOnHost | None = None
) -> Iterator[str]:
    """Yield the lines that start the servers of a host, with a comment on their number."""
    server = server_of(program, plan, role, name)
    count = int(plan.prefill_replicas if role == "prefill" else plan.replicas)
    chip = f" of {scenario_of(plan, role).hardware.id}" * (plan.prefill_scenario is not None)
    yield comment(f"{many(count, 'server')} for {_WORK[role]}, on {cut(server.layout)}{chip} each:")
    per_host = min(count, HOST_CHIPS // server.layout.chips)
    devices = _DEVICES.get(scenario_of(plan, role).hardware.vendor)
    looped = per_host if per_host > 1 and role == "all" and devices else 0
    if pool is not None:
        server = replace(server, ending=f"-{pool.index}")
        looped = pool.servers if role != "prefill" else 0
    variable = f"{_SERVERS}{f'_{pool.index}' if pool else ''}{'_PREFILL' * (role == 'prefill')}"
    if pool is not None:
        yield comment(f"{variable}: how many of them start on this host (default {looped})")
    elif looped:
        yield comment(
            f"run this on each host, with the number of its servers as {variable} ({per_host} on "
            f"{server.layout.chips * per_host} chips)"
        )
    if per_host > 1 and not (devices and (looped or pool)):
        and_ports = "" if pool else " and a --port"
        yield comment(f"servers that share a host need chips{and_ports} of their own")
    elif count > 1 and per_host < 2:
        hosts = "hosts" if server.hosts > 1 else "a host"
        yield comment(f"start each on {hosts} of its own")
    yield from _preparation(program, plan, role, server)
    if pool is None and not looped:
        yield from lines_of(program.start(server))
        return
    if pool is None:
        yield _first_port(program)
    yield from _on_one_host(program, server, f"{variable}:-{looped}", devices)


def _preparation(program: Program, plan: Plan, role: Role, server: Server) -> Iterator[str]:
    """Yield the lines before the start: lengths, weights, draft model, cautions, options."""
    yield comment(
        f"for requests of up to {server.tokens:,} tokens: raise the limit for longer ones"
    )
    scenario = plan.scenario
    stored = scenario.weights or scenario.model.weight_format
    yield from map(comment, program.weights(server, stored))
    drafted = int(scenario.traffic.speculation.drafted)
    if drafted and not server.drafts and role != "prefill":
        yield comment(f"expected with {drafted} draft tokens: add the draft model that you have")
    yield from map(comment, program.cautions(server))
    if server.hosts > 1:
        yield comment(program.on_hosts(server))
    yield from program.options_file(server)


def _on_one_host(
    program: Program, server: Server, count: str, devices: str | None
) -> Iterator[str]:
    """Yield the lines that start all servers of a host, on separate chips and ports.

    count : The variable with the number of servers on this host, and its default.
    devices : The variable with the chips of a server, if there is one.
    """
    chips = server.layout.chips
    yield f"for i in $(seq ${{{count}}}); do"
    if devices and server.hosts == 1:
        several = f"$(seq -s , $chip $((chip + {chips - 1})))"
        yield f"export {devices}={several if chips > 1 else '$chip'}"
    yield from lines_of([*program.start(server), "--port", ShellText("$port"), ShellText("&")])
    yield from (f"chip=$((chip + {chips})) port=$((port + 1))", "done")


def _first_port(program: Program) -> str:
    """Return the shell variables for the next free chip and port of this host."""
    return f"chip=0 port={program.port}"


_SERVERS = "SERVERS"
"""Shell variable with the number of servers on this host."""

_DEVICES = {"NVIDIA": "CUDA_VISIBLE_DEVICES", "AMD": "HIP_VISIBLE_DEVICES"}
"""Environment variable with the chips of a process, by vendor."""


def lines_of(words: Sequence[str]) -> Iterator[str]:
    r"""Yield the lines of a command, with one flag per line.

    >>> list(lines_of(["serve", "a/b", "--tp", "2", "--fast"]))
    ['serve a/b \\', '  --tp 2 \\', '  --fast']
    """
    lines: list[list[str]] = [[]]
    for word in words:
        if word.startswith("--"):
            lines.append([])
        lines[-1].append(shell_word(word))
    texts = [" ".join(line) for line in lines]
    for at, text in enumerate(texts):
        ending = " \\" if at < len(texts) - 1 else ""
        yield ("  " if at else "") + text + ending


def server_of(program: Program, plan: Plan, role: Role, name: str) -> Server:
    """Describe a server of a plan.

    name : The name of the model, as the user typed it.
    """
    scenario = scenario_of(plan, role)
    machine = (plan.replica if scenario is plan.scenario else solve(scenario)).placement.machine
    layout = plan.prefill_layout if role == "prefill" else plan.layout
    assert layout is not None
    model = scenario.model
    checkpoint, quantized_to = checkpoint_of(program.loaded_as, model, scenario.weights, name)
    _, chunk = start_rows(machine.software, machine.tiers[0])
    mode = scenario.engine.split_mode_of(layout.several) if layout.several else None
    draft = scenario.memory.draft
    has_drafts = (draft or (model.mtp and program.drafts_itself)) and role != "prefill"
    return Server(
        checkpoint=checkpoint,
        quantized_to=quantized_to,
        cache=scenario.work.kv_format,
        layout=layout,
        sequences=None if role == "prefill" else ceil(plan.batch / layout.dp),
        tokens=ceil(scenario.traffic.longest),
        chunk=int(chunk) or None,
        memory_share=float(machine.software.memory_fraction),
        cache_share=float(machine.software.cache_fraction),
        drafts=int(scenario.traffic.speculation.drafted) if has_drafts else 0,
        draft=_checkpoint_of_draft(draft) if draft else "",
        draft_is_head=draft is not None and draft.id == EAGLE_HEAD,
        role=role,
        split_mode=mode.flag if mode else None,
        captures_graphs=float(machine.software.launches_ahead) > 0.0,
    )


def _checkpoint_of_draft(draft: Model) -> str:
    """Return the repository of a draft model, or a folder named after it."""
    if draft.repositories:
        return next(iter(draft.repositories.values()))
    return draft.name if "/" in draft.name else f"./{draft.id}"


def scenario_of(plan: Plan, role: Role) -> Scenario:
    """Return the scenario for a server of a plan."""
    return (role == "prefill" and plan.prefill_scenario) or plan.scenario
