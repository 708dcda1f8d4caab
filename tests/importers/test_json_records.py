"""Lines and columns of values in JSON, counted by hand."""

from fastcalc.importers.json_records import json_marks, short_whole
from tests.helpers import every

TEXT = """{"a": 1}
  {"b": [2,
 {"c": "[,:"}, []],
"d": null} {"e": 3}"""


def test_each_value_has_its_line_and_column():
    """From the second record on, whose line is the second; what follows it is not read."""
    assert json_marks(TEXT, 11) == {
        (): (2, 3),
        ("b",): (2, 9),
        ("b", 0): (2, 10),
        ("b", 1): (3, 2),
        ("b", 1, "c"): (3, 8),
        ("b", 2): (3, 16),
        ("d",): (4, 6),
    }
    assert json_marks(TEXT) == {(): (1, 1), ("a",): (1, 7)}


@every("digits,type_", [("9" * 39, int), ("9" * 40, float), ("9" * 5000, float)])
def test_whole_numbers_of_forty_digits_are_floats(digits, type_):
    assert isinstance(short_whole(digits), type_)
