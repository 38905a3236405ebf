"""Folding as FTS5 does it, asked of the SQLite that is there."""

from __future__ import annotations

import sqlite3

from memcli.index.text_folding import PIECE, fold, fts_text, trigram_fold


def test_the_fold_is_that_of_the_trigram_tokenizer_for_every_character() -> None:
    table = sqlite3.connect(":memory:")
    table.execute("CREATE VIRTUAL TABLE f USING fts5(x, tokenize='trigram case_sensitive 0')")
    table.execute("CREATE VIRTUAL TABLE v USING fts5vocab(f, 'instance')")
    # Letters with case all lie below; above are only scripts that pieces leave out.
    codes = [code for code in range(1, 0x1_0500) if not 0xD800 <= code <= 0xDFFF]
    table.executemany(
        "INSERT INTO f (rowid, x) VALUES (?, ?)", [(code, "  " + chr(code)) for code in codes]
    )
    wrong = [
        (hex(code), term[2:], trigram_fold(chr(code)))
        for term, code in table.execute("SELECT term, doc FROM v")
        if term[2:] != trigram_fold(chr(code))
        and any(map(PIECE.fullmatch, (term[2:], trigram_fold(chr(code)), chr(code))))
    ]
    assert not wrong


def test_the_fold_does_not_depend_on_where_in_a_word_a_character_stands() -> None:
    assert trigram_fold("ΣΑΣ ΣΑΣ.") == "σασ σασ."
    assert trigram_fold("İIi") == "İii"


def test_query_folding_joins_case_and_unicode_forms() -> None:
    assert fold("STRASSE") == fold("straße")
    assert fold("Cafe\u0301") == fold("CAFÉ")
    assert fold(fold("ǅ \u0345")) == fold("ǅ \u0345")


def test_full_text_columns_are_nfc_without_nul() -> None:
    assert fts_text("e\u0301\0x") == "é x"
