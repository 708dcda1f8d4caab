"""Shell script that starts the servers of a plan, with the expected performance as comments."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from types import ModuleType

from fastcalc import __version__
from fastcalc.catalogue.schema import Hardware
from fastcalc.core.chip.reserve import start_rows
from fastcalc.core.scenario import Scenario, solve
from fastcalc.errors import InputError
from fastcalc.features.plan.decision import Plan
from fastcalc.features.plan.notes import chips_and_price, cut
from fastcalc.features.plan.ranked_plan import tpot_range
from fastcalc.features.plan.servers import llamacpp, sglang, trtllm, vllm
from fastcalc.features.plan.servers.checkpoint import checkpoint_of
from fastcalc.features.plan.servers.server import HEAD, RANK, Role, Server
from fastcalc.features.plan.service import Service
from fastcalc.kit.answer.numbers_as_text import number, stated_percent
from fastcalc.mentions import option
from fastcalc.quoting import comment, shell_word
from fastcalc.written import many, to_json

ENGINES = {
    "vllm": "vllm",
    "sglang": "sglang",
    "trtllm": "tensorrt-llm",
    "llama-cpp": "llama-cpp",
}
"""Engines of the catalogue, by the program that starts their servers."""

_STARTS: Mapping[str, ModuleType] = {
    "vllm": vllm,
    "sglang": sglang,
    "trtllm": trtllm,
    "llama-cpp": llamacpp,
}


def runs_on(program: str, chip: Hardware) -> bool:
    """Whether an engine of `ENGINES` supports a chip."""
    if program == "trtllm":
        return chip.kind == "gpu" and chip.vendor == "NVIDIA"
    if program == "llama-cpp":
        return chip.kind in ("gpu", "soc", "apple")
    if program == "sglang" and chip.vendor in sglang.NO_DEVICE_OF:
        return False
    return chip.kind in ("gpu", "soc", "tpu", "npu")


def script(
    program: str,
    plan: Plan,
    service: Service,
    name: str,
    commands: Sequence[str],
    first_tokens: str | None = None,
) -> str:
    """Script that starts the servers of a plan.

    name : name of the model, as the user typed it
    commands : commands that print the expected performance
    first_tokens : TTFT in words; None for the TTFT that is compared with its limit

    Raises InputError if the plan offloads weights or caches to host memory, if the program does not
    support the cache format, or if it cannot serve the plan.
    """
    engine = plan.scenario.engine
    if ENGINES[program] != engine.program:
        raise InputError(
            f"{option('emit', program)} writes commands of {ENGINES[program]}, but the plan uses "
            f"{engine.id}; omit {option('engine')}"
        )
    if plan.scenario.memory.host is not None:
        raise InputError(
            f"{option('emit', program)} starts servers without offloading to a host; "
            f"omit {option('host')}"
        )
    cache, caches = plan.scenario.work.kv_format, _STARTS[program].CACHES
    if cache not in caches:
        raise InputError(
            f"{option('emit', program)}: {engine.name} keeps no cache in {cache}; "
            f"{option('kv')} takes {', '.join(caches)}"
        )
    if program == "llama-cpp":
        llamacpp.check(plan)
    lines = [
        *map(comment, _expected(plan, service, name, first_tokens)),
        *map(comment, commands),
    ]
    if plan.prefill_layout is not None:
        lines += ["", *_servers(program, plan, "prefill", name)]
        lines += ["", *_servers(program, plan, "decode", name)]
        lines += ["", *_router(program, plan)]
    else:
        lines += ["", *_servers(program, plan, "all", name)]
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
    chips = "Of chips as slow as was asked for" if service.deviations else "Expected"
    share = f" of {stated_percent(service.claimed_share)} within" if service.claimed_share else ""
    sequences = f"up to {many(int(plan.batch), 'sequence')} in flight on each"
    yield f"{chips}, with {sequences}: TPOT{share} {tpot} ms{range_},"
    yield f"first token{first_tokens or f'{share} {first} ms'};"
    if plan.values["ttft"] > _LONG_WAIT * float(plan.replica.estimate.ttft[0]):
        yield "most of which is waiting for others: a shorter limit or more chips lessen it;"
    yield f"{engine.name} as of {engine.date}, fastcalc {__version__}:"


_WORK = {"all": "prompts and decode", "prefill": "prompts", "decode": "decode"}


def _servers(program: str, plan: Plan, role: Role, name: str) -> Iterator[str]:
    """Yield the lines that start one server, with a comment on the number of servers."""
    server = server_of(program, plan, role, name)
    count = plan.prefill_replicas if role == "prefill" else plan.replicas
    chip = f" of {scenario_of(plan, role).hardware.id}" * (plan.prefill_scenario is not None)
    yield comment(f"{many(count, 'server')} for {_WORK[role]}, on {cut(server.layout)}{chip} each:")
    if count > 1:
        yield comment("servers that share a host need chips and a --port of their own")
    yield comment(
        f"for requests of up to {server.tokens:,} tokens: raise the limit for longer ones"
    )
    yield from map(comment, _cautions(program, plan, server))
    if server.hosts > 1 and program == "trtllm":
        yield comment(f"once, for its {server.hosts} hosts, which a file '{trtllm.HOSTS}' names:")
    elif server.hosts > 1:
        yield comment(
            f"on each of its {server.hosts} hosts: {RANK} from 0, {HEAD} the address of host 0"
        )
    if program == "trtllm":
        yield f"cat > {trtllm.options_file(server)} <<'END'"
        yield from (f"{key}: {to_json(value)}" for key, value in trtllm.options(server).items())
        yield "END"
    yield from lines_of(_STARTS[program].start(server))


def _router(program: str, plan: Plan) -> Iterator[str]:
    """Commands of the router between the prefill and the decode servers."""
    if program == "trtllm":
        counts = {"context": plan.prefill_replicas, "generation": plan.replicas}
        yield comment(f"a router, with the addresses of the servers in place of {_HOST}")
        yield "cat > disaggregated.yaml <<'END'"
        for kind, count in counts.items():
            urls = [f"{_HOST}-{kind}-{place}:8000" for place in range(1, int(count) + 1)]
            servers = {"num_instances": int(count), "urls": urls}
            yield f"{kind}_servers: {to_json(servers)}"
        yield "END"
        yield "trtllm-serve disaggregated -c disaggregated.yaml"
    else:
        yield comment(
            f"a router sends prompts to the first, the rest to the others: {_ROUTERS[program]}"
        )


_HOST = "HOST"
_ROUTERS = {"vllm": "vllm-router, llm-d", "sglang": "sglang_router --pd-disaggregation"}


def _cautions(program: str, plan: Plan, server: Server) -> Iterator[str]:
    model, layout = plan.scenario.model, server.layout
    stored = plan.scenario.weights or model.weight_format
    if program == "llama-cpp":
        yield f"{llamacpp.file_of(server)}: a GGUF file with weights in {stored}"
    elif server.checkpoint.startswith("./"):
        yield f"{server.checkpoint}: a folder or repository with weights in {stored}"
    has_drafts = server.drafts and program != "llama-cpp"
    if plan.scenario.traffic.speculation.drafted and not has_drafts:
        drafted = int(plan.scenario.traffic.speculation.drafted)
        yield f"expected with {drafted} tokens drafted ahead: add the draft model that you have"
    if program == "trtllm" and layout.dp > 1 and layout.tp > 1:
        yield f"its attention replicas have a rank each: {layout.width}, expected {layout.dp}"
    if program == "vllm" and server.role != "all":
        yield "VLLM_NIXL_SIDE_CHANNEL_HOST has to be the address of its host"
    if program == "sglang" and layout.dp > 1 and server.chunk and server.role != "decode":
        chunk = f"{server.chunk // layout.dp:,} prompt tokens of each in a step"
        yield f"its attention replicas share a chunk: {chunk}, expected {server.chunk:,}"


def lines_of(words: Sequence[str]) -> Iterator[str]:
    r"""Yield the lines of a command, with one flag on each.

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


def server_of(program: str, plan: Plan, role: Role, name: str) -> Server:
    """One server of a plan.

    name : name of the model, as the user typed it
    """
    scenario = scenario_of(plan, role)
    machine = (plan.replica if scenario is plan.scenario else solve(scenario)).placement.machine
    layout = plan.prefill_layout if role == "prefill" else plan.layout
    assert layout is not None
    loaded_as = _STARTS[program].LOADED_AS
    checkpoint, quantized_to = checkpoint_of(loaded_as, scenario.model, scenario.weights, name)
    _, chunk = start_rows(machine.software, machine.tiers[0])
    mode = scenario.engine.split_mode_of(layout.several) if layout.several else None
    drafts = int(scenario.traffic.speculation.drafted) if scenario.model.mtp else 0
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
        drafts=0 if role == "prefill" else drafts,
        role=role,
        split_mode=mode.flag if mode else None,
    )


def scenario_of(plan: Plan, role: Role) -> Scenario:
    """Scenario of a server of a plan."""
    return (role == "prefill" and plan.prefill_scenario) or plan.scenario
