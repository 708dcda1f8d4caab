"""What a flag may be given, by kind: as it is meant, and as nobody should."""

from collections.abc import Callable
from functools import lru_cache
from random import Random

from fastcalc.catalogue.formats import FORMATS
from fastcalc.catalogue.store import Catalogue
from fastcalc.features.claims.judge import MEANING

LISTS = ("LIST", "NAMES", "CHIPS", "CHIPS|all", "VERDICTS")
"""Metavars of flags that take several values separated by commas."""

KIND_OF_NAME = {
    "weights": "FORMAT",
    "kv": "KV",
    "speculate": "DRAFT",
    "accuracy": "SHARE",
    "engine": "ENGINE",
    "hardware": "CHIP",
    "on": "CHIP",
    "model": "MODEL",
    "models": "MODEL",
    "name": "ENTRY",
    "left": "ENTRY",
    "right": "ENTRY",
    "id": "NEW",
    "from_speed": "TOK/S",
    "to_speed": "TOK/S",
    "batch": "BATCH",
    "prompt": "TOKENS",
    "output": "TOKENS",
    "context": "TOKENS",
    "tp": "N",
    "pp": "N",
    "ep": "N",
    "dp": "N",
    "only": "VERDICT",
}
"""What is meant where the metavar alone does not tell; a new flag is drawn by its metavar."""

PATHS = {"FILE", "FOLDER", "PATH"}

WHOLE = ("1", "2", "4", "8", "8", "16", "64", "3", "7")
TOKENS = ("1", "100", "1000", "1000", "4k", "8k", "32k", "777")
GOOD: dict[str, tuple[str, ...]] = {
    "BATCH": ("1", "1", "8", "32", "128", "1k", "5", "1..64x2", "8..24+8"),
    "TOKENS": TOKENS,
    "N": WHOLE,
    "SHARE": ("0.5", "0.9", "1", "0.01", "0.333"),
    "FORMAT": tuple(FORMATS),
    "KV": ("bf16", "fp16", "fp8", "int8", "nvfp4", "q8_0"),
    "DRAFT": ("2.5", "0.8x3", "2.5/3", "1", "0.99x7", "none"),
    "VERDICT": tuple(MEANING),
    "NEW": ("my-chip", "own.7b", "x"),
    "X": ("1.5", "2.5", "10", "1"),
    "MS": ("0", "50", "800", "10000", "0.5"),
    "TIME": ("1s", "250ms", "25ms", "2ms", "500us", "10s"),
    "N/s": ("0.5/s", "5/s", "200/s", "30/min"),
    "TOK/S": ("20", "60", "170", "1000", "0.5"),
    "P": ("50", "90", "99"),
    "USD": ("0", "0.5", "15", "200"),
    "S": ("0", "1.5", "60"),
    "CHIP=USD": ("h100-sxm=2.10", "gb200=10", "wse-3=0.01", "b200=5"),
    "PATH=VALUE": (
        "memory.HBM3.capacity=90 GB",
        "memory[0].bandwidth=5 TB/s",
        "wse-3:price.cloud=20 USD/h",
        "llama-3.2-3b:vocabulary=1000",
        "blocks[0].ffn.width=1024",
        "blocks.0.count=2",
        "parameters.decode_layer_floor=40 us",
        "architectures.ampere.bandwidth_fraction=0.5",
        "ranges.decode.below=2",
    ),
    "KEY=VALUE,...": ("speed=1000,accuracy=0.75", "speed=30", "accuracy=0.9"),
    "RULE|all": ("all", "HW041", "HW001", "MD001"),
    "ID": ("1", "30", "17"),
    "oracle|majority|SHARE": ("oracle", "majority", "0.7"),
    "TOKENS|AxN": ("2.5", "0.8x3", "2.5/3"),
}

NUMBERS = (
    *("0", "-1", "-0", "0.5", "1.5", "101", "1e308", "-1e308", "1e-320", "1e400", "1e-400"),
    *("nan", "NaN", "inf", "-inf", "Infinity", "9" * 400, "1" + "0" * 30, "1000000", "1000001"),
    *("1000000000", "1000000001", "999999999999", "1e9", "1_000", "0x10", "010", "1,5", "5%", "½"),
    *(
        "\u0663",
        "\uff11\uff12",
        "1..1000000000001",
        "1..10000+1",
        "1..1M+1",
        "9..1",
        "1..9x1",
        "1..9x0",
        "1..2..3",
    ),
    *("1,,2", ",", ",,,", "0.999999999999", "1.0000000000001", "+8", " 8 ", "8k8", "8K", "1e5k"),
    *("1 s", "25 parsecs", "25msms", "-25ms", "0ms", "1e308s", "1e-320s", "nan ms", "5/h", "0/s"),
    *("1e-320/s", "1e308/s", "1e308x3", "0.8x1e308", "2.5/0", "nan/nan", "0x3", "0.8x", "1e-320x3"),
    *(
        "1,5k",
        "1,000",
        "1_0",
        "1__000",
        "1.2.3",
        "\uff11,\uff15",
        "9" * 5000,
        "1e400/s",
        "NaT",
        ",",
    ),
    *("1..100+1", "1..64x2,nan", "$1,5", "50k/month", "1e400/month", "0.5%", "1_000%"),
    *("100", "99.9999999999", "1e-9", "4294967296", "9223372036854775808", "2147483648"),
)
NAMES = (
    *("", " ", "-", "--", "all", "all,all", "all,h100-sxm", "h100-sxm,h100-sxm", "none", "ALL"),
    *("true", "null", "None", "table", "TABLE", "json,csv", "fp8,fp8", "native", "ideal", "groq"),
    *(
        "é",
        "日本語",
        "\u202egnp.exe",
        "\x1b[31mred\x1b[0m",
        "\x1b]0;title\x07",
        "a\nb",
        "a\rb",
        "\t",
    ),
    *("\x7f", "\x9b31m", "\udcff", "\ufeff", "a\u0000b".replace("\u0000", "\u200b"), "e\u0301"),
    *("=1+1", "+1", "@SUM(A1)", "-2+3", "|", "a|b", "%s", "{}", "{0.__class__}", "$HOME", "`id`"),
    *(
        "x" * 200,
        "x" * 256,
        "x" * 5000,
        "é" * 200,
        "x," * 2000,
        "a=",
        "=",
        "=1",
        "a=b=c",
        "h100-sxm=",
    ),
    *("h100-sxm=nan", "h100-sxm=-1", "h100-sxm=1e308", "h100-sxm=1e-320", "speed=nan", "speed=0"),
    *("speed=1e308", "accuracy=1e-320", "speed=1,speed=2", "nothing=1", "speed", "HW", "hw041"),
    *("/", ".", "..", "//", "~", "x/", "x.yaml", "x.json", "./x", "/dev/null", "/dev/full"),
    *("/dev/zero", "-h", "--help", "--version", "-o", "--format"),
)


@lru_cache(maxsize=1)
def entries() -> dict[str, tuple[str, ...]]:
    """Return the names of the catalogue by kind of value."""
    known = Catalogue()
    chips, models = tuple(known.names("hardware")), tuple(known.names("models"))
    engines = tuple(known.names("engines"))
    return {
        "CHIP": chips,
        "MODEL": models,
        "ENGINE": engines,
        "ENTRY": (*chips, *models, *engines),
    }


def kind_of(name: str, metavar: str | None) -> str:
    """Return what a flag is given, by its name, its metavar or the words that it offers."""
    if metavar in PATHS:
        return metavar
    return KIND_OF_NAME.get(name) or metavar or "ANY"


def one(rng: Random, kind: str) -> str:
    """Return one value as it is meant."""
    known = GOOD.get(kind) or entries().get(kind)
    if known:
        return rng.choice(known)
    if "|" in kind:
        return rng.choice(kind.split("|"))
    return rng.choice(rng.choice([*GOOD.values()]))  # a kind not seen before


def good(rng: Random, name: str, metavar: str | None) -> str:
    """Return a value, or several, as they are meant."""
    kind = kind_of(name, metavar)
    if metavar == "CHIPS|all" and rng.random() < 0.02:
        return "all"
    count = rng.choice((1, 1, 2, 3)) if metavar in LISTS else 1
    return ",".join(one(rng, kind) for _ in range(count))


def hostile(rng: Random, name: str, metavar: str | None) -> str:
    """Return a value that is wrong, extreme, or at home elsewhere."""
    ways: tuple[tuple[float, Callable[[], str]], ...] = (
        (0.45, lambda: rng.choice(NUMBERS)),
        (0.35, lambda: rng.choice(NAMES)),
        (0.1, lambda: one(rng, rng.choice([*GOOD, "CHIP", "MODEL", "ENGINE"]))),
        (0.1, lambda: _damaged(rng, good(rng, name, metavar))),
    )
    return rng.choices([way for _, way in ways], [share for share, _ in ways])[0]()


def _damaged(rng: Random, text: str) -> str:
    place = rng.randrange(len(text) + 1)
    if rng.random() < 0.4:
        return text[:place] + text[place + 1 :]
    extra = rng.choice(
        ["x", "0", ".", ",", " ", "-", "/", "=", "\n", "é", "k", "M", "..", "'", '"']
    )
    return text[:place] + extra + text[place:]
