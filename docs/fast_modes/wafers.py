"""The second trick: a smaller model on wafers, how many users they hold, and what money buys."""

from book import LONG, SHORT, SLOW, Book, Words, counted, ends_of, first, price, speed, table

from fastcalc.articles.catalogue_numbers import number_of
from fastcalc.catalogue.formats import number_format
from fastcalc.core.estimate import site_power
from fastcalc.core.ratios import independent_ratio
from fastcalc.core.scenario import Outcome
from fastcalc.report.numbers_as_text import dollars, number
from fastcalc.search import Space, cheapest
from fastcalc.search.space import chip_counts

DENSE, SPREAD = ("dense-20b", "int8"), ("spark-120b", None)
"""GPT-5.3-Codex-Spark as one wafer would hold it, and as several would."""

ALONE = (
    (*DENSE, "dense, Spark on one wafer"),
    ("codellama-34b", "int8", "dense, Code Llama"),
    (*SPREAD, "a mixture, Spark over wafers"),
    ("glm-4.7", "fp8", "GLM-4.7"),
    ("deepseek-r1", None, "DeepSeek-R1"),
    ("frontier-1t", None, "hypothetical"),
)
SMALLER = ("glm-4.7", SPREAD[0])
"""Full and small in the second table."""

CODER = 1000.0
"""What the articles say that Spark writes, at least. [tokens/s]"""

CHIPS = ("h100-sxm", "b200", "gb200", "wse-3")


def smaller_model(book: Book) -> Words:
    """Return speeds of one user by model and chip, and what machine and model add to them."""
    solved = {
        (model, chip): book.alone(model, chip, form) for model, form, _ in ALONE for chip in CHIPS
    }
    both = [[solved[name, chip] for chip in ("h100-sxm", "wse-3")] for name in SMALLER]
    (full, full_wafer), (small, small_wafer) = both
    names = ("GLM-4.7", f"{_billions(small)} weights")
    rows = [
        [name, *(_cell(one) for one in pair), _gain(*pair)]
        for name, pair in zip(names, both, strict=True)
    ]
    rows.append(["gain by the model", _gain(full, small), _gain(full_wafer, small_wafer), ""])
    floor = book.catalogue.engine("cerebras").parameters.decode_layer_floor
    assert floor is not None, "the wafers' engine has a floor of a layer"
    assert floor.band is not None, "and its band"
    return {
        "machine_table": table(("", "H100", "wafers", "gain by the machine"), rows),
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
        "machine_gain": _gain(full, full_wafer),
        "measured_words": _against(book.values("26"), first(full_wafer)),
        "machine_gain_served": " to ".join(number(one, 2) for one in ends_of(book.concluded("20"))),
        "served_batch": book.concluding("20", "batch"),
        "model_gain": _gain(full, small),
        "both_gain": _gain(full, small_wafer),
        "layer_low": f"{1e6 * floor.band[0]:.0f}",
        "layer_high": f"{1e6 * floor.band[1]:.0f}",
        "glm_wafers": str(full_wafer.placement.layout.chips),
        "glm_speed": speed(full_wafer),
        "dense_speed": speed(book.alone(DENSE[0], "wse-3", DENSE[1])),
        "dense_point": number(first(book.alone(DENSE[0], "wse-3", DENSE[1]))),
        "dense_price": _at_thousand(book, *DENSE, "the dense"),
        "spread_price": _at_thousand(book, *SPREAD, "the mixture of"),
    }


def _gain(before: Outcome, after: Outcome) -> str:
    """Return a ratio of two speeds, with its range."""
    speeds = (one.estimate.ranged_speed for one in (after, before))
    ratio, low, high = (
        number(float(end[0]), 2) for end in independent_ratio(over=next(speeds), under=next(speeds))
    )
    return f"{ratio} times ({low}..{high})"


def sized(outcome: Outcome) -> str:
    """Return the size of a model as its name would have it."""
    return f"{outcome.placement.work.total_parameters / 1e9:,.0f}B"


def bits(outcome: Outcome) -> str:
    """Return the bits of a weight without its scales."""
    return f"{number_format(outcome.placement.work.weight_format).bits // 1:g}"


def at_context(outcome: Outcome) -> str:
    """Say at how many tokens of context a model is that takes no more.

    All others stand at the context that the page names.
    """
    context = outcome.scenario.traffic.context
    return f", at {context:,.0f} tokens of context, its most" if context < LONG else ""


def _named(outcome: Outcome, shown: str) -> str:
    return f"{shown}, {sized(outcome)} at {bits(outcome)} bits{at_context(outcome)}"


def _at_thousand(book: Book, model: str, weights: str | None, article: str) -> str:
    """Say what a thousand tokens/s of a model cost on wafers, at the cheapest point."""
    space = Space(book.scenario(model, "wse-3", weights=weights))
    fewest = space.fewest_chips or 1
    layouts = [one for chips in chip_counts(fewest, 32 * fewest) for one in space.layouts(chips)]
    found = cheapest(space, layouts, CODER).outcome
    name = f"{article} {sized(book.alone(model, 'wse-3', weights))}"
    if found is None:
        return f"{name} is not expected to reach {CODER:,.0f} tokens/s"
    wafers = counted(found.placement.layout.chips)
    shown = f"{name} costs {dollars(price(found))} $/Mtok of output at {CODER:,.0f} tokens/s"
    return f"{shown} ({wafers}, {found.scenario.batches[0]:,} users)"


def _cell(outcome: Outcome) -> str:
    chips = outcome.placement.layout.chips
    return f"{speed(outcome)} [{chips}]" if outcome.fits else "no place"


def wafer(book: Book) -> Words:
    """Return what memory, arithmetic and layers each allow on a wafer."""

    def memory(chip: str, what: str) -> str:
        return f"{1e-12 * number_of(book.catalogue, f'hardware/{chip}', f'memory.{what}').si:,g}"

    wafers = book.values("25")
    gains = book.concluded("20")[1:]
    served = [1000.0 * one for one in book.concluded("24")]
    return {
        "h100_bandwidth": memory("h100-sxm", "bandwidth"),
        "wafer_bandwidth": memory("wse-3", "bandwidth"),
        "wafer_memory": book.said("31"),
        "spark_gains": f"{number(min(gains), 2)} to {number(max(gains), 2)}",
        "area_ratio": number(book.values("32")[0], 2),
        "naive": book.said("naive-wafer"),
        "wafer_bound": number(book.alongside("naive-wafer", "the bound, the smaller")),
        "naive_size": _billions(book.alone("dense-20b", "wse-3")),
        "glm_size": _billions(book.alone("glm-4.7", "wse-3")),
        "spark_size": _billions(book.alone(SPREAD[0], "wse-3")),
        "glm_published": str(book.alone("glm-4.7", "wse-3").placement.layout.chips),
        "wafer_expected": speed(book.alone("dense-20b", "wse-3")),
        "fifteen_65": number(book.values("18")[0]),
        "fifteen_60": number(book.values("18")[1]),
        "wafers_355b": number(wafers[0], 1),
        "wafers_1t": number(wafers[1], 1),
        "served_low": number(min(served)),
        "served_high": number(max(served)),
        "sram_verdict": book.plain("20"),
        "distil_verdict": book.plain("24"),
        "glm_drafted": book.said("glm-speed"),
    }


TEXTS = (SHORT, LONG)

FLAT = 0.95
"""Share of one user's speed above which speed counts as the same. [1]"""


def _against(measured: list[float], expected: float) -> str:
    """Say on which side of an expected speed measured ones lie.

    Examples
    --------
    >>> _against([1000.0, 1201.0], 617.0), _against([600.0, 700.0], 617.0)
    ('above those expected here', 'about those expected here')
    """
    if min(measured) > expected:
        return "above those expected here"
    side = "below" if max(measured) < expected else "about"
    return f"{side} those expected here"


def _billions(outcome: Outcome) -> str:
    return f"{number(outcome.placement.work.total_parameters / 1e9, 2)} billion"


def story(book: Book) -> Words:
    """Return how many users a wafer serves at one speed, how many it holds, and at what price."""
    rows, flats, rooms = [], [], []
    for model, weights, kind in ((*SPREAD, "mixture"), (*DENSE, "dense")):
        held = [_held(book, model, weights, context) for context in TEXTS]
        short = held[0]
        label = f"{kind}, {sized(short)} at {bits(short)} bits"
        speeds = short.estimate.speed
        flat = int((speeds >= FLAT * speeds[0]).sum())
        layers = short.placement.work.layers
        flats.append(flat / layers)
        room = held[-1].scenario.batches[-1]
        wafers = counted(short.placement.layout.chips)
        rooms.append(f"{counted(room, 'user')} on {wafers}")
        row = [label, wafers, f"{layers:.0f}", f"{flat:,}"]
        rows.append([*row, *(cell for one in held for cell in _most(one))])
    heads = ["Spark, if it is a", "on", "layers", "users at full speed"]
    heads += [
        cell for tokens in TEXTS for cell in (f"room at {tokens:,.0f} tokens", "$/Mtok there")
    ]
    return {
        "story_table": table(heads, rows),
        "flat_words": _about(flats),
        "memory_words": f"With {LONG:,} tokens each there is room for {' or '.join(rooms)}",
    }


def _held(book: Book, model: str, weights: str | None, context: float) -> Outcome:
    """Return a model on the fewest wafers, with every number of users that they hold."""
    space = Space(book.scenario(model, "wse-3", weights=weights, context=context))
    place = space.site.smallest(1)
    assert place is not None, "some wafers hold a user"
    return space.at(place.layout, *range(1, int(place.max_batch) + 1))


def _most(outcome: Outcome) -> tuple[str, str]:
    """Return the most users that are held, and the price of a token with all of them."""
    assert outcome.usd is not None, "the wafer has a price"
    return f"{outcome.scenario.batches[-1]:,}", dollars(float(outcome.usd[1][-1]))


def _about(flats: list[float]) -> str:
    """Say how users at full speed compare with layers.

    Examples
    --------
    >>> _about([1.0, 1.1]), _about([0.4, 0.5])
    ('about as many users as the model has layers', '0.40 to 0.50 users for each layer')
    """
    if all(0.75 <= one <= 1.33 for one in flats):
        return "about as many users as the model has layers"
    return f"{' to '.join(number(one, 2) for one in ends_of(flats))} users for each layer"


MONEY, POWER = 10e9, 750e6
"""What one article says that OpenAI's contract with Cerebras is worth, and plans for. [USD, W]"""


def budget(book: Book) -> Words:
    """Say what the contract's money and power would buy: chips, tokens a second and users."""
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
    layouts = [one for count in chip_counts(fewest, 8 * fewest) for one in space.layouts(count)]
    served = cheapest(space, layouts, goal).outcome
    allowed = (
        f"the money buys {number(by_money, 2)} at {bought.si:,.0f} dollars each, and the power "
        f"runs {number(by_power, 2)} at {number(watts / 1e3, 2)} kW each, so {ends} ends first"
    )
    if served is None:
        return f"{allowed}; none is expected to reach {goal:,.0f} tokens/s"
    copies = min(by_money, by_power) / served.placement.layout.chips
    users = copies * served.scenario.batches[0]
    return (
        f"{allowed}. All of them write {_round(users * first(served))} tokens/s, for "
        f"{_round(users)} users at {number(first(served), 2)} tokens/s each"
    )


def _round(count: float) -> str:
    """Return a large count in two digits and a word.

    Examples
    --------
    >>> _round(20_160), _round(1_234_567), _round(2.1e9)
    ('20,000', '1.2 million', '2.1 billion')
    """
    for word, size in (("billion", 1e9), ("million", 1e6)):
        if count >= size:
            return f"{number(count / size, 2)} {word}"
    return f"{float(f'{count:.1e}'):,.0f}"
