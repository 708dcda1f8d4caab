"""Every system of the articles in a row, and every verdict that is not plain support."""

from collections import Counter

from book import (
    FAST,
    LONG,
    RACK,
    SHORT,
    SLOW,
    Book,
    Words,
    counted,
    dearer,
    each_dearer,
    first,
    price,
    speed,
    table,
    users,
)
from techniques import GPT, cheapest_by_speed
from wafers import DENSE, SPREAD, at_context, bits, sized

from fastcalc.core.pricing import PriceBasis
from fastcalc.features.claims import answer as claim_text
from fastcalc.features.claims.break_evens import digits
from fastcalc.features.claims.judge import MEANING, Judged
from fastcalc.features.claims.reasons import reason
from fastcalc.features.fastmode.smaller_batches import curve
from fastcalc.features.frontier.search import frontier
from fastcalc.formulas.money import batch_ratio
from fastcalc.kit.answer.numbers_as_text import dollars, number

SWAPS = (
    ("llama-3.1-405b", 16, 64),
    ("deepseek-r1", 16, 64),
    ("glm-4.7", 16, 64),
    ("gpt-oss-120b", 2, 64),
)
"""Models, chips and batches at which a newer chip takes an older one's place."""

OLD, NEW = "h100-sxm", ("b200", "gb200")

CODEX = 60.0
"""Speed of GPT-5.3-Codex, the lower that the articles report. [tokens/s]"""


def newer(book: Book) -> Words:
    """What newer chips do to speed and to price, by either price basis."""
    rows: list[list[str]] = []
    by_basis: dict[str, list[tuple[str, float]]] = {"cloud": [], "tco": []}
    for model, chips, batch in SWAPS:
        row = [f"{model}, {chips} chips, batch {batch}"]
        for chip in NEW:
            gain, cloud, tco = (
                _ratio(book, model, chip, chips, batch, basis) for basis in (None, "cloud", "tco")
            )
            row += [f"{gain:.2f}x", f"{cloud:.2f}x", f"{tco:.2f}x"]
            if chip == NEW[-1]:
                by_basis["cloud"].append((model, cloud))
                by_basis["tco"].append((model, tco))
        rows.append(row)
    quantities = ("speed", "$ by cloud", "$ by ownership")
    heads = [f"{chip}: {quantity}" for chip in NEW for quantity in quantities]
    return {
        "bandwidth_gain": number(book.values("36")[0]),
        "price_table": table((f"over {OLD}", *heads), rows),
        "cloud_words": each_dearer(by_basis["cloud"]),
        "tco_words": each_dearer(by_basis["tco"]),
        "speed_order": cheapest_by_speed(
            frontier(
                [book.scenario("gpt-oss-120b", chip, context=SHORT) for chip in (OLD, NEW[-1])],
                max_chips=8,
            )
        ),
        "price_verdict": book.verdict("gb200-price"),
        "cost_notes": "; ".join(_rent(book, chip) for chip in (OLD, *NEW)),
    }


def _ratio(
    book: Book, model: str, chip: str, chips: int, batch: int, basis: PriceBasis | None
) -> float:
    """The ratio of speeds on two chips at their best, or of prices on a basis. [1]"""
    new, old = (book.cut(model, name, chips, batch, basis or "cloud") for name in (chip, OLD))
    return price(new) / price(old) if basis else first(new) / first(old)


def _rent(book: Book, chip: str) -> str:
    """The two prices of a chip with the date of its rent."""
    entry = book.catalogue.hardware(chip)
    rent, bought = entry.price.rent, entry.price.purchase
    assert rent is not None, f"{chip} has a rent"
    assert bought is not None, f"{chip} has a purchase price"
    return f"{chip} ${dollars(rent.si)}/h ({rent.date}) or ${bought.si:,.0f} to buy"


def systems(book: Book) -> Words:
    """A row for each system that the articles speak of."""
    rows = [*_same_model(book), *_wafers(book), *_chips(book)]
    return {"system_table": table(("system", "the articles", "fastcalc", "verdict"), rows)}


def _served(book: Book, shape: str, goal: float) -> str:
    """How many users of a shape have a speed on a rack, and at what price."""
    found = book.reach(shape, goal)
    if found.outcome is None:
        return f"{shape}: never (a single user gets {number(found.fastest)})"
    return f"{shape}: {users(found)} users at ${dollars(price(found.outcome))}/Mtok output"


def _same_model(book: Book) -> list[list[str]]:
    """The rows of the systems that keep their model."""
    shapes = ("frontier-1t", "frontier-5t")
    at = {
        goal: "; ".join(_served(book, shape, goal) for shape in shapes)
        for goal in (CODEX, SLOW, FAST)
    }
    band = " to ".join(
        number(book.alongside("4", f"{end} multiple")) for end in ("least", "largest")
    )
    halves = _cost_of(book, *GPT)
    rack = f"{RACK} GB200, {LONG:,} tokens of context"
    smaller = float(batch_ratio(cost_ratio=GPT[1], speed_ratio=GPT[0]))
    return [
        ["Claude Opus 4.6", _says(book, "1"), f"{rack}: {at[SLOW]}", "undetermined: its size"],
        [
            "Claude Opus 4.6 fast",
            _says(book, "2"),
            f"with a smaller batch alone, {at[FAST]}; with roofline steps, {FAST:g} instead of "
            f"{SLOW:g} cost {band} times as much or are out of reach",
            f"{book.verdict('4')}: size, context, batch, floor",
        ],
        [
            "GPT-5.3-Codex",
            _says(book, "18"),
            f"at {CODEX:g}, {at[CODEX]}",
            "undetermined: its size",
        ],
        [
            "GPT-5.4 fast",
            _says(book, "12"),
            f"a batch {smaller:g} times smaller, if credits follow cost on one machine; "
            f"DeepSeek-R1 on {RACK} GB200 {halves}",
            f"{book.verdict('12')}: a vendor's offer",
        ],
    ]


def _says(book: Book, *claims: str) -> str:
    """What the articles say, word for word as their claims have it."""
    return " ".join(book.tested(claim).claim.claim for claim in claims)


def _cost_of(book: Book, speedup: float, cost: float) -> str:
    """Number of users on a rack from which a speed-up by batch alone costs at most a multiple."""
    rack = book.scenario("deepseek-r1", "gb200", context=LONG)
    starts = book.smaller_batches.engines[0].starts
    found = curve(rack, RACK, starts, speedup)
    assert found is not None, "a rack holds the model"
    paid = found.ends(cost)
    if paid is None:
        return f"never costs {cost:g} times or less with a smaller batch alone"
    return f"costs {cost:g} times or less with a smaller batch alone from {paid[0]:,} users on"


def _wafers(book: Book) -> list[list[str]]:
    """The rows of the systems on wafers."""
    dense = book.alone(DENSE[0], "wse-3", DENSE[1])
    larger = book.alone("codellama-34b", "wse-3", "int8")
    spread = book.alone(SPREAD[0], "wse-3")
    glm = book.alone("glm-4.7", "wse-3", "fp8")
    wafers = {id(one): counted(one.placement.layout.chips) for one in (dense, larger, spread, glm)}
    size = f"{book.verdict('22')}: its size; its speed is {book.verdict('17')}"
    tokens = book.filled("glm-speed", "input[tokens]")
    return [
        [
            f"Spark, read as a dense model at {bits(dense)} bits",
            _says(book, "17", "22"),
            "; ".join(
                f"{sized(one)}: {wafers[id(one)]}, {speed(one)} tokens/s{at_context(one)}"
                for one in (dense, larger)
            ),
            size,
        ],
        [
            f"Spark, read as an MoE of {sized(spread)}",
            _says(book, "17"),
            f"{wafers[id(spread)]}, {speed(spread)} tokens/s",
            size,
        ],
        [
            "GLM-4.7 on Cerebras",
            _says(book, "26"),
            f"{wafers[id(glm)]} at {bits(glm)} bits, {speed(glm)} tokens/s; {tokens} tokens per "
            f"step {book.said('glm-speed')}",
            f"{book.verdict('26')}; its speculation {book.verdict('glm-speed')}",
        ],
    ]


def _chips(book: Book) -> list[list[str]]:
    """The rows of the chips."""
    h100, b200, gb200 = (book.alone("glm-4.7", chip, "fp8") for chip in (OLD, *NEW))
    model, count, batch = SWAPS[0]
    cloud, tco = (_ratio(book, model, "gb200", count, batch, one) for one in ("cloud", "tco"))
    hold = " and ".join(
        f"{number(size)}B at {8.0 * each:g} bits"
        for size, each in zip(
            book.values("21"), book.check("21").check.inputs["bytes_each"].values, strict=True
        )
    )
    alone = {
        id(one): f"GLM-4.7 at {bits(one)} bits on {one.placement.layout.chips}: {speed(one)} "
        "tokens/s for one user"
        for one in (h100, b200, gb200)
    }
    return [
        ["H100", _says(book, "35"), alone[id(h100)], f"bandwidth {book.verdict('35')}"],
        [
            "B200",
            _says(book, "34"),
            alone[id(b200)],
            f"transistors {book.verdict('34')}",
        ],
        [
            "GB200",
            _says(book, "36"),
            f"{book.values('36')[0]:.2f}x the bandwidth; {alone[id(gb200)]}; for "
            f"{SWAPS[0][0]}, tokens are {dearer(cloud)} by cloud price ({cloud:.2f}x) and "
            f"{dearer(tco)} by ownership ({tco:.2f}x)",
            f"bandwidth supported; that it speeds up decoding is {book.verdict('36')}",
        ],
        [
            "WSE-3",
            _says(book, "31", "30", "32"),
            f"{hold}; {book.said('30')} PB/s of memory, "
            f"{digits(book.alongside('30', 'fabric'))} between cores; "
            f"{book.values('32')[0]:.1f} times the area",
            f"memory {book.verdict('31')}, its bandwidth {book.verdict('30')}, area "
            f"{book.verdict('32')}",
        ],
    ]


def verdicts(book: Book) -> Words:
    """Verdicts by article, what is wrong, and what is open."""
    judged = book.judged
    wrong = [one for one in judged if one.verdict in ("refuted", "misleading")]
    unknown = [one for one in judged if one.verdict == "undetermined"]
    return {
        "article_table": _by_article(book),
        "wrong_claims": " ".join(
            f'"{one.claim.claim}"' for one in wrong if one.verdict == "refuted"
        ),
        "wrong_table": table(
            ("id", "the claim", "computed", "criterion", "why"),
            [[*_told(one), reason(one)] for one in wrong],
        ),
        "open_table": table(
            ("id", "the claim", "computed", "criterion", "unpublished inputs"),
            [[*_told(one), one.claim.unpublished or ""] for one in unknown],
        ),
    }


def _told(one: Judged) -> list[str]:
    check = one.conclusion if one.verdict == "misleading" else one.check
    assert check is not None, "only external claims have no test"
    cells = claim_text.over_assumptions(check), claim_text.criterion(check)
    return [one.claim.id, one.claim.claim, *cells]


def _by_article(book: Book) -> str:
    """How many claims of each article have which verdict; a claim may stand in several."""
    rows = []
    for key, article in book.claims.articles.items():
        counts = Counter(one.verdict for one in book.judged if key in one.claim.articles)
        name = f"{article.author}, {article.title}" if article.author else article.title
        rows.append([name, *(str(counts[word] or "-") for word in MEANING)])
    return table(("article", *MEANING), rows)
