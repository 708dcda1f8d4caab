"""Values as they are typed: what is read, and what to write instead of what is not."""

import pytest

from fastcalc.catalogue.limits import LIMITS
from fastcalc.errors import InputError
from fastcalc.kit.request import readers
from tests.helpers import every


@every("text,example", [("1,234", "1234"), ("12,345,678", "12345678"), ("1,2", "8"), ("x", "8")])
def test_a_number_with_commas_is_to_be_written_without(text, example):
    with pytest.raises(InputError, match=rf"'{text}' is not .*; write for example {example}$"):
        readers.whole(text, "--batch", LIMITS["tokens"])


def test_a_share_is_zero_only_where_it_may_be():
    assert readers.share(0.0, "--prefix-hit", zero=True) == 0.0
    assert readers.share(1.0, "--load") == 1.0
    for value, zero in ((0.0, False), (-0.5, True), (1.5, True)):
        with pytest.raises(InputError, match="is not a share"):
            readers.share(value, "--load", zero=zero)


def test_commas_separate_names_but_in_the_name_of_a_yaml_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a,b", "c,d.yaml"):
        (tmp_path / name).touch()
    assert readers.names("a,b", "--on") == ["a", "b"]
    assert readers.names("x, c,d.yaml,x", "--on") == ["x", "c,d.yaml"]
    assert readers.names("c,e.yaml", "--on") == ["c", "e.yaml"]
