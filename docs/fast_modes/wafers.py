"""The second technique: a smaller model on wafers, their users, and what money buys."""

from book import EVEN, LONG, RACK, SHORT, SLOW, Book, Words, counted, first, price, speed, table

from fastcalc.catalogue.formats import number_format
from fastcalc.core.estimate import site_power
from fastcalc.core.outcome import Outcome
from fastcalc.features.claims.catalogue_numbers import number_of
from fastcalc.grid.largest_batch import cheapest
from fastcalc.grid.space import Space, chip_counts
from fastcalc.kit.answer.numbers_as_text import dollars, number

DENSE, SPREAD = ("dense-20b", "int8"), ("spark-120b", None)
"""GPT-5.3-Codex-Spark as one wafer would hold it, and as several would."""

ALONE = (
    (*DENSE, "dense, Spark on one wafer"),
    ("codellama-34b", "int8", "dense, Code Llama"),
    (*SPREAD, "MoE, Spark over wafers"),
    ("glm-4.7", "fp8", "GLM-4.7"),
    ("deepseek-r1", None, "DeepSeek-R1"),
    ("frontier-1t", None, "hypothetical"),
)

CODER = 1000.0
"""What the articles say that Spark writes, at least. [tokens/s]"""

CHIPS = ("h100-sxm", "b200", "gb200", "wse-3")


def smaller_model(book: Book) -> Words:
    """Speeds of one user by model and chip, and what machine and model add to them."""
    solved = {
        (model, chip): book.alone(model, chip, form) for model, form, _ in ALONE for chip in CHIPS
    }
    floor = book.catalogue.engine("cerebras").parameters.decode_layer_floor
    assert floor is not None, "the wafers' engine has a floor of a layer"
    assert floor.band is not None, "and its band"
    return {
        "speed_table": table(
            ("model", *CHIPS),
            [
                [
                    _named(solved[model, CHIPS[0]], shown),
                    *(_cell(solved[model, chip]) for chip in CHIPS),
                ]
                for model, _, shown in ALONE
            ],
        ),
        "layer_low": f"{1e6 * floor.band[0]:.0f}",
        "layer_high": f"{1e6 * floor.band[1]:.0f}",
        "dense_price": _at_thousand(book, *DENSE, "the dense {} model"),
        "spread_price": _at_thousand(book, *SPREAD, "the {} MoE"),
    }


def sized(outcome: Outcome) -> str:
    """The size of a model as its name would have it."""
    return f"{outcome.placement.work.total_parameters / 1e9:,.0f}B"


def bits(outcome: Outcome) -> str:
    """The bits of a weight without its scales."""
    return f"{number_format(outcome.placement.work.weight_format).bits // 1:g}"


def at_context(outcome: Outcome) -> str:
    """Say at how many tokens of context a model is that takes no more.

    All others stand at the context that the page names.
    """
    context = outcome.scenario.traffic.context
    return f", at {context:,.0f} tokens of context, its maximum" if context < LONG else ""


def _named(outcome: Outcome, shown: str) -> str:
    return f"{shown}, {sized(outcome)} at {bits(outcome)} bits{at_context(outcome)}"


def _at_thousand(book: Book, model: str, weights: str | None, phrase: str) -> str:
    """Say what a thousand tokens/s of a model cost on wafers, at the cheapest point."""
    space = Space(book.scenario(model, "wse-3", weights=weights))
    fewest = space.fewest_chips or 1
    counts = range(fewest, MOST_WAFERS * fewest + 1)
    layouts = [one for chips in counts for one in space.layouts(chips)]
    found = cheapest(space, layouts, CODER).outcome
    name = phrase.format(sized(book.alone(model, "wse-3", weights)))
    if found is None:
        return f"{name} is not expected to reach {CODER:,.0f} tokens/s"
    wafers = counted(found.placement.layout.chips)
    shown = f"{name} costs ${dollars(price(found))} per million output tokens"
    users = found.scenario.batches[0]
    return f"{shown} at {number(first(found))} tokens/s ({wafers}, {users:,} users)"


def _cell(outcome: Outcome) -> str:
    chips = outcome.placement.layout.chips
    return f"{speed(outcome)} [{chips}]" if outcome.fits else "does not fit"


def wafer(book: Book) -> Words:
    """What memory, arithmetic and layers each allow on a wafer."""

    def memory(chip: str, what: str) -> str:
        return f"{1e-12 * number_of(book.catalogue, f'hardware/{chip}', f'memory.{what}').si:,g}"

    wafers = book.values("25")
    gains = book.concluded("20")[1:]
    return {
        "h100_bandwidth": memory("h100-sxm", "bandwidth"),
        "wafer_bandwidth": memory("wse-3", "bandwidth"),
        "wafer_memory": book.said("31"),
        "spark_gains": f"{number(min(gains), 2)} to {number(max(gains), 2)}",
        "area_ratio": number(book.values("32")[0], 2),
        "naive": book.said("naive-wafer"),
        "wafer_bound": number(book.alongside("naive-wafer", "the bound, the smaller")),
        "naive_size": billions(book.alone("dense-20b", "wse-3")),
        "glm_size": billions(book.alone("glm-4.7", "wse-3")),
        "wafer_expected": speed(book.alone("dense-20b", "wse-3")),
        "fifteen_65": number(book.values("18")[0]),
        "fifteen_60": number(book.values("18")[1]),
        "wafers_355b": number(wafers[0], 1),
        "sram_verdict": book.plain("20", "the number of users"),
        "distil_word": "is wrong" if book.verdict("24") == "misleading" else book.plain("24"),
        "glm_drafted": book.said("glm-speed"),
    }


MOST_WAFERS = 32
"""Times the fewest wafers up to which cheaper ways are looked for. [1]"""

TEXTS = (SHORT, LONG)

FLAT = 0.95
"""Share of one user's speed above which speed counts as the same. [1]"""


def billions(outcome: Outcome) -> str:
    """The weights of a model."""
    return f"{number(outcome.placement.work.total_parameters / 1e9, 2)} billion"


def story(book: Book) -> Words:
    """How many users a wafer serves at one speed, how many it holds, and at what price."""
    rows, flats, falls = [], [], []
    for model, weights, shape in ((*SPREAD, "MoE"), (*DENSE, "dense")):
        for context in TEXTS:
            full = _held(book, model, weights, context)
            label = f"{shape}, {sized(full)} at {bits(full)} bits"
            wafers = counted(full.placement.layout.chips)
            flat = int((full.estimate.speed >= FLAT * full.estimate.speed[0]).sum())
            largest = full.scenario.batches[-1]
            for users in sorted({flat, largest}):
                rows.append([label, wafers, f"{context:,.0f}", *_served(full, users)])
            if context == SHORT:
                flats.append(
                    (
                        shape if shape == "MoE" else f"{shape} model",
                        flat,
                        flat / float(full.placement.work.layers),
                    )
                )
                falls.append(_usd(full, largest) / _usd(full, flat))
    heads = ("Spark, if it is", "on", "context", "users", "tokens/s per user", "$/Mtok")
    return {
        "story_table": table(heads, rows),
        "flat_words": _flat(flats, falls),
    }


def _flat(flats: list[tuple[str, int, float]], falls: list[float]) -> str:
    """Say up to how many users a wafer keeps its speed, and what more of them do to the price.

    Examples
    --------
    >>> _flat([("MoE", 37, 1.03), ("dense model", 46, 0.96)], [1.0, 1.01])
    'With up to about one user per layer (37 for the MoE, 46 for the dense model), each gets the full speed. With more, they queue, and tokens become no cheaper'
    >>> _flat([("MoE", 12, 0.33)], [0.7])
    'With up to 12 users for the MoE, each gets the full speed. With more, they queue, and tokens become cheaper still'
    """  # noqa: E501 (what is returned, in one line)
    counts = ", ".join(f"{flat} for the {shape}" for shape, flat, _ in flats)
    is_layers = all(1.0 / 1.33 <= ratio <= 1.33 for *_, ratio in flats)
    limit = (
        f"about one user per layer ({counts})"
        if is_layers
        else counts.replace(" for", " users for")
    )
    further = "cheaper still" if min(falls) < 1.0 / (1.0 + EVEN) else "no cheaper"
    return (
        f"With up to {limit}, each gets the full speed. With more, they queue, and tokens "
        f"become {further}"
    )


def _usd(outcome: Outcome, users: int) -> float:
    """The price of a million output tokens with some users. [USD]"""
    assert outcome.usd is not None, "the wafer has a price"
    return float(outcome.usd[1][outcome.scenario.batches.index(users)])


def _served(outcome: Outcome, users: int) -> tuple[str, str, str]:
    """A number of users with the speed of each, and the price of a token."""
    speed = float(outcome.estimate.speed[outcome.scenario.batches.index(users)])
    return f"{users:,}", number(speed, 2), dollars(_usd(outcome, users))


def _held(book: Book, model: str, weights: str | None, context: float) -> Outcome:
    """A model on the fewest wafers, with every number of users that they hold."""
    space = Space(book.scenario(model, "wse-3", weights=weights, context=context))
    placement = space.site.smallest(1)
    assert placement is not None, "some wafers hold a user"
    return space.at(placement.layout, *range(1, int(placement.max_batch) + 1))


WHOSE = {"wse-3": "an analyst's estimate; other estimates are higher", "gb200": "a street price"}
"""Whose the purchase prices are, as the files of the chips say."""

MONEY, POWER = 10e9, 750e6
"""What one article says that OpenAI's contract with Cerebras is worth, and plans for. [USD, W]"""


def budget(book: Book) -> Words:
    """Say what the contract's money and power would buy: chips, tokens per second and users."""
    shown = [_bought(book, chip, goal) for chip, goal in (("wse-3", CODER), ("gb200", SLOW))]
    return {
        "money": f"{MONEY / 1e9:g}",
        "power": f"{POWER / 1e6:g}",
        "wafer_budget": shown[0],
        "rack_budget": shown[1],
    }


def _bought(book: Book, chip: str, goal: float) -> str:
    """Say how many of a chip money and power allow, and what they serve at a speed."""
    hardware = book.catalogue.hardware(chip)
    watts, bought = site_power(hardware), hardware.price.purchase
    assert watts is not None, f"{chip} has a power"
    assert bought is not None, f"{chip} has a purchase price"
    by_money, by_power = MONEY / bought.si, POWER / watts
    ends = "money" if by_money < by_power else "power"
    space = Space(book.scenario(SPREAD[0], chip))
    fewest = space.fewest_chips or 1
    counts = chip_counts(fewest, max(RACK, MOST_WAFERS * fewest))
    layouts = [one for count in counts for one in space.layouts(count)]
    served = cheapest(space, layouts, goal).outcome
    allowed = (
        f"{_round(by_money)} at {_round(bought.si)} dollars each ({WHOSE[chip]}). "
        f"The power is enough for {_round(by_power)}, so {ends} is the limit"
    )
    if served is None:
        return f"{allowed}, and none is expected to reach {goal:,.0f} tokens/s"
    users = min(by_money, by_power) / served.placement.layout.chips * served.scenario.batches[0]
    rate = number(first(served), 2)
    return f"{allowed}. They would serve {_round(users)} concurrent users at {rate} tokens/s each"


def _round(count: float) -> str:
    """A large count in two digits and a word.

    Examples
    --------
    >>> _round(20_160), _round(1_234_567), _round(2.1e9)
    ('20,000', '1.2 million', '2.1 billion')
    """
    for word, size in (("billion", 1e9), ("million", 1e6)):
        if count >= size:
            return f"{number(count / size, 2)} {word}"
    return f"{float(f'{count:.1e}'):,.0f}"
