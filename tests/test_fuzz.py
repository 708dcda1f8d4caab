"""300 random requests; ``python -m benchmarks.fuzz --cases 20000`` for more."""

from benchmarks.fuzz.campaign import campaign, summary
from benchmarks.fuzz.grammar import commands, draw

CASES = 300


def test_a_seed_gives_the_same_cases():
    assert [draw(5, number) for number in range(40)] == [draw(5, number) for number in range(40)]
    assert draw(5, 1) != draw(6, 1)


def test_every_command_and_flag_is_drawn():
    drawn = {}
    for number in range(4000):
        words = draw(1, number).words
        drawn.setdefault(words[0] if words else "", set()).update(
            word.partition("=")[0] for word in words
        )
    missing = [
        (name, param.opts[0])
        for name, params in commands().items()
        for param in params
        if param.param_type_name == "option" and not drawn[name] & set(param.opts)
    ]
    assert not missing


def test_nothing_breaks_it():
    broken = campaign(seed=1, numbers=range(CASES))
    assert not broken, summary(broken, CASES)


def test_nothing_breaks_a_process():
    broken = campaign(seed=1, numbers=range(6), is_process=True)
    assert not broken, summary(broken, 6)
