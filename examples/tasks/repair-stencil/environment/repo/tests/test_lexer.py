import pytest

from stencil import TemplateError
from stencil.lexer import Piece, pieces


def test_a_text_without_marks_is_one_piece():
    assert pieces("just text") == [Piece("text", "just text", 1)]


def test_pieces_know_their_line():
    assert pieces("a\n{{ b }}\n{% c %}") == [
        Piece("text", "a\n", 1),
        Piece("output", "b", 2),
        Piece("text", "\n", 2),
        Piece("tag", "c", 3),
    ]


def test_an_unclosed_output_is_an_error():
    with pytest.raises(TemplateError, match="line 2"):
        pieces("a\n{{ b")
