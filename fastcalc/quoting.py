"""Quoting of words so that a shell or YAML reader restores them exactly and executes nothing.

Command lines and scripts keep each command on one line, because a shell runs the text after a line
end as the next command, even after a ``#``.
"""

import re
import shlex
from collections.abc import Iterable

from fastcalc.written import line, to_json, visible

_PIECE = re.compile(
    r"""\$'(?P<escaped>(?:[^'\\]|\\.)*)'|'(?P<plain>[^']*)'|"(?P<double>[^"]*)"|\S"""
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))")


class ShellText(str):
    """A word in a script that the shell should expand, such as a variable."""

    __slots__ = ()


def shell_word(word: str) -> str:
    r"""Quote a word for a POSIX shell, or for bash and zsh if it has unprintable characters.

    >>> print(shell_word("a b"), shell_word("$(rm x)"), shell_word("a\nb\u202e"))
    'a b' '$(rm x)' $'a\x0ab\u202e'
    """
    if isinstance(word, ShellText):
        return word
    if visible(word) == word and not re.search(r"[\n\t]", word):
        return shlex.quote(word)
    return "$'" + "".join(map(_shell_letter, word)) + "'"


def _shell_letter(letter: str) -> str:
    if letter in "'\\":
        return f"\\{letter}"
    code = ord(letter)
    if 0xDC80 <= code <= 0xDCFF:  # a byte in a file name that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if visible(letter) == letter and letter not in "\n\t":
        return letter
    return f"\\x{code:02x}" if code < 0x80 else _escape(code)


def _escape(code: int) -> str:
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shell_line(words: Iterable[str]) -> str:
    """Join words into a command on one line, quoting each with `shell_word`."""
    return " ".join(map(shell_word, words))


def shell_words(text: str) -> list[str]:
    r"""Split a command written by `shell_line` into its words.

    >>> shell_words("fastcalc fit 'a b' $'c\\x0ad'")
    ['fastcalc', 'fit', 'a b', 'c\nd']
    """
    words, ends = list[str](), -1
    for piece in _PIECE.finditer(text):
        if piece.start() != ends:
            words.append("")
        words[-1] += _unquoted(piece)
        ends = piece.end()
    return words


def _unquoted(piece: re.Match[str]) -> str:
    if piece["escaped"] is not None:
        return _ESCAPE.sub(_letter, piece["escaped"])
    return next((text for text in (piece["plain"], piece["double"]) if text is not None), piece[0])


def _letter(escape: re.Match[str]) -> str:
    byte, *codes, letter = escape.groups()
    if byte is not None:
        code = int(byte, 16)
        return chr(code if code < 0x80 else code + 0xDC00)
    return letter or chr(int(codes[0] or codes[1], 16))


def comment(text: str) -> str:
    r"""Return a comment for a script or YAML file, on one line.

    >>> comment("for a\nrm b")
    '# for a rm b'
    """
    return f"# {line(text)}".rstrip()


def yaml_text(text: str) -> str:
    r"""Quote text as a YAML scalar that is read back exactly.

    >>> print(yaml_text("runs: {x\n"), yaml_text("soft\u00adhyphen\U000e0067"))
    "runs: {x\n" "soft\u00adhyphen\U000e0067"
    """
    decoded = text.encode(errors="replace").decode()  # YAML has no lone surrogates
    return re.sub("[^ -~]", _yaml_letter, to_json(decoded))


def _yaml_letter(match: re.Match[str]) -> str:
    letter = match[0]
    return letter if visible(letter) == letter else _escape(ord(letter))
