import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: threads wait by spinning

import pytest
from hypothesis import HealthCheck, settings

from benchmarks.shipped_once import read_once
from fastcalc.catalogue.store import Catalogue

read_once()

settings.register_profile(
    "quick",
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile("quick")


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    return Catalogue()
