"""Sizes that fastcalc gives quantized checkpoints, next to published ones: ``stored_sizes.csv``.

Run ``python -m benchmarks.stored_sizes [file.csv]``: a table, the worst last, and how many are
within one per cent. GGUF files hold the text model alone; so do the checkpoints in the file. A tied
head that a checkpoint stores a second time, which no engine loads, is added to our size.
"""

import csv
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.table import markdown
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.model.workload import Workload, workload

TABLE = Path(__file__).parents[1] / "tests" / "stored_sizes.csv"
NEAR = 0.01
"""What counts as the published size: most are published with three digits. [1]"""


@dataclass(frozen=True)
class Size:
    """A checkpoint with its published size and ours. [byte]"""

    checkpoint: str
    weights: str
    published: float
    ours: float

    @property
    def error(self) -> float:
        """Ours over the published size, less one. [1]"""
        return self.ours / self.published - 1.0


def sizes(table: Path, catalogue: Catalogue) -> Iterator[Size]:
    """Yield every checkpoint of a table, counted in the formats that it names."""
    with table.open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            counted = workload(catalogue.model(row["model"]), row["weights"] or None)
            published = 1e9 * float(row["published_gb"])
            ours = counted.weight_bytes + (_table(counted) if row["unloaded"] == "head" else 0.0)
            yield Size(row["checkpoint"], row["weights"], published, ours)


def _table(work: Workload) -> float:
    """A head that is stored beside the embedding it is tied to, at 16 bits. [byte]"""
    return 2.0 * work.vocabulary * work.sent_width


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:.2f}"


def main(table: Path) -> None:
    """Print the table and the count of those within one per cent."""
    found = sorted(sizes(table, Catalogue()), key=lambda size: abs(size.error))
    lines = [
        (size.checkpoint, size.weights, *map(_gigabytes, (size.published, size.ours)),
         f"{size.error:+.2%}")
        for size in found
    ]  # fmt: skip
    print(markdown(("checkpoint", "formats", "published GB", "ours", "error"), lines))
    near = sum(abs(size.error) <= NEAR for size in found)
    print(f"\n{near} of {len(found)} within {NEAR:.0%}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else TABLE)
