"""What the largest contexts and numbers of users are headed by, from made-up solutions."""

from math import inf
from types import SimpleNamespace

from fastcalc.core.placement.layout import Layout
from fastcalc.core.start import GraphsGivenUp
from fastcalc.core.start_checks import GIB
from fastcalc.features.fit import solved, starts
from fastcalc.features.fit.solved import SolvedAnswer
from fastcalc.mentions import as_flags
from tests.helpers import every


def solution(
    certain=0, edge=0, *, unknown="users", limit="memory", ranks=False, verdict="yes", **machine
):
    facts = {"longest": 8000.0, "slots": 1.0, "shared_context": inf} | machine
    memory = SimpleNamespace(longest=facts["longest"], slots=facts["slots"])
    engine = SimpleNamespace(id="vllm")
    machine = SimpleNamespace(engine=engine, memory=memory, shared_context=facts["shared_context"])
    placed = SimpleNamespace(machine=machine, layout=Layout(tp=2))
    scenario = SimpleNamespace(
        sharding=SimpleNamespace(names_ranks=ranks), hardware=SimpleNamespace(id="h"),
    )  # fmt: skip
    location = SimpleNamespace(
        placement=placed, scenario=scenario, verdict=verdict, is_expected_to_stop=False,
        is_share_uncertain=False,
    )  # fmt: skip
    return SimpleNamespace(
        certain=certain,
        edge=edge,
        unknown=unknown,
        limited_by=limit,
        location=location,
        needs_length=False,
    )


def answered(*solutions):
    locations = [one.location for one in solutions]
    return SimpleNamespace(solutions=solutions, locations=locations, quantized=[])


@every(
    "solutions,code",
    [([(0, 0)], 1), ([(1, 0)], 0), ([(0, 1)], 0), ([(0, 0), (0, 2)], 0), ([(0, 0), (0, 0)], 1)],
)
def test_the_answer_is_no_if_nothing_fits(solutions, code):
    assert SolvedAnswer.code.fget(answered(*(solution(*pair) for pair in solutions))) == code


@every(
    "unknown,ranks,start,is_open",
    [
        ("users", (False,), "key: fits: most concurrent users", True), ("users", (True,), "key: fits: most concurrent users", False),
        ("context", (True, False), "key: fits: most tokens", True), ("context", (True, True), "key: fits: most tokens", False),
    ],
)  # fmt: skip
def test_the_key_names_the_layout_where_it_is_open(unknown, ranks, start, is_open):
    key = SolvedAnswer.key(answered(*(solution(unknown=unknown, ranks=named) for named in ranks)))
    assert key.startswith(start)
    assert key.endswith("layout: the one with the largest capacity") == is_open
    assert "; tight: most that fit with the smallest memory reserve" in key


@every(
    "changes,note",
    [
        ({"limit": "memory"}, None),
        ({"limit": "engine"}, "the limit"), ({"limit": "engine", "unknown": "context"}, "the limit"),
        ({"limit": "engine", "unknown": "context", "certain": 5},
         "--max-model-len limits vllm to 8,000 tokens"),
        ({"limit": "engine", "unknown": "context", "certain": 5, "shared_context": 1e4},
         "--max-model-len limits vllm to 8,000 tokens for all sequences of a replica"),
        ({"limit": "engine", "unknown": "context", "certain": 5, "shared_context": 1e4, "slots": 4.0},
         "--max-model-len limits vllm to 8,000 tokens for all sequences of a replica in 4 equal parts"),
        ({"limit": "engine", "unknown": "context", "certain": 5, "slots": 4.0},
         "--max-model-len limits vllm to 8,000 tokens"),
        ({"limit": "engine", "unknown": "context", "certain": 5, "longest": 0.0},
         "vllm needs more memory to start than longer sequences do; 'fastcalc fit' with a longer --prompt explains why and how to fix it"),
    ],
)  # fmt: skip
def test_the_limit_of_an_engine_is_told(changes, note, monkeypatch):
    monkeypatch.setattr(solved, "engine_limit", lambda _: "the limit")
    found = solved._limit_note(solution(**changes))
    assert found == note if note is None else as_flags(found) == note


@every("count,weight", [(1, 1), (solved._SHORT, 1), (solved._SHORT + 1, 0)])
def test_few_notes_stand_on_the_first_screen(count, weight, monkeypatch):
    lines = iter(f"start {number}" for number in range(count))
    monkeypatch.setattr(solved, "start_note", lambda _: next(lines))
    monkeypatch.setattr(solved, "kept_note", lambda _: "kept")
    monkeypatch.setattr(solved, "length_notes", lambda _: [])
    monkeypatch.setattr(solved, "why_or_stop", lambda _: "no room")
    notes = [*SolvedAnswer.notes(answered(*(solution(1, 1) for _ in range(count))))]
    assert [note.weight for note in notes] == [weight] * count + [0] * count
    stopped = [*SolvedAnswer.notes(answered(solution(0, 0, verdict="no")))]
    assert [note.text.lower() for note in stopped] == ["h: no room.", "kept."]


def on(chip, certain, edge=0, *, unknown="users", batch=1, dp=1, fmt="bf16"):
    layout = Layout(dp=dp)
    work = SimpleNamespace(short_format=fmt, weight_format=fmt, kv_format="fp8")
    scenario = SimpleNamespace(
        model=SimpleNamespace(asked_name="m"), traffic=SimpleNamespace(longest=5000.0),
        batches=(batch, 64),
    )  # fmt: skip
    placement = SimpleNamespace(layout=layout, work=work)
    location = SimpleNamespace(
        scenario=scenario, placement=placement, chip=chip, is_share_uncertain=False
    )
    return SimpleNamespace(certain=certain, edge=edge, unknown=unknown, location=location)


def longest(*facts, batch=1):
    return [on(*each, unknown="context", batch=batch) for each in facts]


@every(
    "solutions,sentence",
    [
        ([on("a", 1504)], "m with 5,000 tokens per user: 1,504 concurrent users on a."),
        ([on("a", 1504), on("b", 7)], "m with 5,000 tokens per user: 1,504 concurrent users on a and 7 on b."),
        ([on("a", 1504, fmt="fp4"), on("b", 7)],
         "m with 5,000 tokens per user: 1,504 concurrent users on a (fp4, KV cache fp8) and 7 on b (bf16, KV cache fp8)."),
        ([on("a", 1505, dp=8)], "m with 5,000 tokens per user: 1,505 concurrent users on a (dp 8: 8 replicas of 188)."),
        ([on("a", 0), on("b", 7)], "m with 5,000 tokens per user: 7 concurrent users on b."),
        ([on(name, count) for name, count in zip("abcdefg", (5, 3, 9, 4, 6, 7, 8), strict=True)],
         "m with 5,000 tokens per user: from 3 concurrent users on b to 9 on c."),
        ([on("a", 0), on("b", 0), on("a", 0)], "One user of m with 5,000 tokens does not fit on a or b."),
        ([on("a", 0), on("b", 0, 2)], "Up to 2 users of m with 5,000 tokens fit on b only if the engine reserves less memory than its maximum."),
        (longest(("a", 9000)), "Longest context for 1 user of m: 9,000 tokens on a."),
        (longest(("a", 9000, 0)) + longest(("b", 8000), batch=8), "Longest context for 1 and 8 users of m: 9,000 tokens on a and 8,000 on b."),
        (longest(("a", 0), batch=8), "8 users of m do not fit on a."), (longest(("a", 0)), "1 user of m does not fit on a."),
        (longest(("a", 0, 5), batch=8), "8 users of m fit on a only if the engine reserves less memory than its maximum."),
    ],
)  # fmt: skip
def test_the_sentence_of_a_model(solutions, sentence, monkeypatch):
    monkeypatch.setattr(solved, "named_chips", lambda location: location.chip)
    assert solved._sentence(solutions) == sentence


def started(**changes):
    """A server that stops with a line of its log, unless something is changed."""
    usual = {
        "verdict": "no", "memory_verdict": "no", "stop_line": "No available memory", "remedies": (),
        "joint_remedies": (), "fits": False, "is_expected_to_stop": True, "expected_blocks": 0,
        "is_share_uncertain": False, "graphs_given_up": None, "on_fewer": None,
    }  # fmt: skip
    scenario = SimpleNamespace(engine=SimpleNamespace(id="vllm"))
    return SimpleNamespace(scenario=scenario, **usual | changes)


def remedy(text):
    return SimpleNamespace(flag=text)


EAGER = GraphsGivenUp("eager", 1.5 * GIB, 1.24)
STOPS = "vllm would stop with 'No available memory'"
TIGHT = {"verdict": "edge", "fits": True, "is_expected_to_stop": False}
ONE, TWO = (remedy("--tp 2"),), (remedy("--tp 2"), remedy("--kv fp8"))
BOTH = ((remedy("--tp 2"), remedy("--kv fp8")),)
CHANGES = (
    SimpleNamespace(flag="--max-num-seqs 9", is_enough=True),
    SimpleNamespace(flag="--chips 2", is_enough=False),
)
FEWER = started(memory_verdict="fits", remedies=CHANGES)
TOO_SMALL = started(remedies=CHANGES)


def test_what_a_start_without_graphs_saves_and_costs():
    text = "--engine eager is vLLM's --enforce-eager (frees 1.50 GiB per chip, TPOT x 1.2)"
    assert as_flags(EAGER.sentence) == text


@every(
    "changes,sentence",
    [
        ({"verdict": "fits", "remedies": ONE}, "why"),
        ({"verdict": "fits", "on_fewer": FEWER}, f"on 1 chip {STOPS}; it starts there with --max-num-seqs 9"),
        ({"verdict": "fits", "on_fewer": TOO_SMALL}, "why"),
        ({}, STOPS),
        ({"stop_line": None}, "why"),
        ({"stop_line": None, "remedies": ONE}, "why; vllm starts with --tp 2"),
        ({"remedies": TWO}, f"{STOPS}; vllm starts with --tp 2 or --kv fp8"),
        ({"joint_remedies": BOTH}, f"{STOPS}; vllm starts with --tp 2 --kv fp8"),
        ({"joint_remedies": BOTH, "remedies": (remedy("--dp 2"),)}, f"{STOPS}; vllm starts with --tp 2 --kv fp8 or --dp 2"),
        ({"remedies": ONE, "graphs_given_up": EAGER}, f"{STOPS}; vllm starts with --tp 2; {EAGER.sentence}"),
        # It fits, and stops if the engine reserves as much as it may: blocks are expected then.
        (TIGHT, f"{STOPS} if it reserves its maximum memory"),
        (TIGHT | {"expected_blocks": 1200}, f"{STOPS} if it reserves its maximum memory"),
        (
            TIGHT | {"expected_blocks": 1200, "stop_line": "too few blocks (9)"},
            "vllm would stop with 'too few blocks (9)' if it reserves its maximum memory (1,200 blocks are expected)",
        ),
        (TIGHT | {"is_expected_to_stop": True, "expected_blocks": 1200}, STOPS),
        # What else runs on the machine may leave less memory.
        (TIGHT | {"is_share_uncertain": True, "expected_blocks": 9}, f"{STOPS} if the system leaves so little"),
        ({"is_share_uncertain": True}, STOPS),
        (TIGHT | {"memory_verdict": "edge"}, "why"),
        ({"memory_verdict": "edge"}, STOPS),
    ],
)  # fmt: skip
def test_why_a_server_does_not_start(changes, sentence, monkeypatch):
    monkeypatch.setattr(starts, "why", lambda _: "why")
    monkeypatch.setattr(starts, "named_chips", lambda _: "1 chip")
    assert starts.why_or_stop(started(**changes)) == sentence
