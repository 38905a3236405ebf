"""The searches behind units and windows, with tokenizers that are not quite additive."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.index.token_spans import SpanTokens, last_that_fits, longest_length, trimmed
from memcli.index.windows import windows


def cut(body: str) -> list[tuple[int, int, int]]:
    return list(windows(SpanTokens(body, len), 0, len(body)))


def cut_words(body: str) -> list[tuple[int, int, int]]:
    tokens = SpanTokens(body, lambda text: len(text.split()))
    return list(windows(tokens, 0, len(body)))


@given(st.integers(0, 200), st.integers(0, 200), st.integers(0, 300), st.integers(-10, 500))
def test_the_last_that_fits_is_found_from_any_guess(
    first: int, more: int, fitting: int, guess: int
) -> None:
    last = first + more
    limit = first + fitting
    assert last_that_fits(lambda index: index <= limit, first, last, guess) == min(last, limit)


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=300),
    st.integers(1, 60),
    st.integers(1, 400),
    st.integers(0, 8),
)
def test_the_longest_length_within_a_limit_is_found_from_any_guess(
    steps: list[int], limit: int, guess: int, slack: int
) -> None:
    def count(length: int) -> int:
        return sum(steps[:length])

    found = longest_length(count, len(steps), limit, guess, slack)
    assert found == 0 or count(found) <= limit
    if found < len(steps) and (found == 0 or count(found) < max(1, limit - slack)):
        assert count(found + 1) > limit


def test_the_longest_length_reads_about_as_much_text_as_it_returns() -> None:
    read: list[int] = []

    def count(length: int) -> int:
        read.append(length)
        return length // 4

    assert 1504 <= longest_length(count, 10_000_000, 384, guess=10, slack=8) <= 1539
    assert max(read) < 4000
    assert len(read) < 20


@given(st.text(st.sampled_from("ab \n\u3000"), max_size=30), st.integers(0, 30))
def test_a_trimmed_span_is_the_stripped_text(body: str, start: int) -> None:
    begin, end = trimmed(body, min(start, len(body)), len(body))
    assert body[begin:end] == body[start:].strip()


def test_each_span_is_counted_once() -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text)

    tokens = SpanTokens("abcdef", count)
    assert (tokens(1, 3), tokens(1, 3), tokens(0, 6)) == (2, 2, 6)
    assert counted == ["bc", "abcdef"]


def test_a_window_that_a_gap_keeps_short_shares_nothing_with_the_one_before_the_last() -> None:
    body = "a" * 420 + " " * 310 + "b" * 400
    found = cut(body)
    assert found[:2] == [(0, 384, 384), (336, 420, 84)]
    assert all(first[1] <= third[0] for first, third in zip(found, found[2:], strict=False))


def test_a_gap_wider_than_a_window_gives_no_blank_window() -> None:
    body = "a" * 384 + " " * 2000 + "b" * 384
    assert cut(body) == [(0, 384, 384), (2384, 2768, 384)]


def test_an_end_moves_back_within_the_last_eighth_of_the_tokens_only() -> None:
    body = "long" * 8 + (" " + "long" * 8) * 309 + "\n" + "a " * 400 + "a"
    first, *_ = cut_words(body)
    assert 336 <= first[2] <= 384


def test_a_start_moves_to_the_start_of_its_word_where_the_count_is_the_same() -> None:
    body = " ".join(f"word{place}" for place in range(2000))
    assert all(body[start : start + 4] == "word" for start, _, _ in cut_words(body))


def test_an_overlap_keeps_its_limit_where_a_leading_blank_saved_tokens() -> None:
    def count(text: str) -> int:
        return len(text) + (0 if text[:1].isspace() else 3)

    body = ("ab " * 1000).strip()
    found = list(windows(SpanTokens(body, count), 0, len(body)))
    assert len(found) > 5
    for (_, end, _), (start, _, _) in pairwise(found):
        assert 45 <= count(body[start:end]) <= 48


@settings(deadline=None, max_examples=150)
@given(st.integers(500, 3000), st.integers(1, 2**31), st.sampled_from(["a", "ab ", "abc.\n"]))
def test_the_limits_hold_with_a_tokenizer_whose_counts_dip(
    length: int, seed: int, unit: str
) -> None:
    def jagged(text: str) -> int:
        return len(text) + (len(text) * seed >> 7) % 5

    body = (unit * length)[:length].strip()
    tokens = SpanTokens(body, jagged)
    found = list(windows(tokens, 0, len(body)))
    assert (found[0][0], found[-1][1]) == (0, len(body))
    for start, end, count in found:
        assert count == jagged(body[start:end]) <= 384
    for (_, end, _), (start, _, _) in pairwise(found):
        assert body[end:start].strip() == ""
        assert start >= end or jagged(body[start:end]) <= 48
