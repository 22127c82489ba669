"""Refusals that have one code and two meanings."""

import pytest

from messaging.broker.refusal_words import is_gone, is_one_topic

pytestmark = pytest.mark.any_database


@pytest.mark.parametrize(
    ("code", "words", "gone"),
    [
        (404, "NOT_FOUND - no queue 'q' in vhost '/'", True),
        (404, "NOT_FOUND - queue 'q' in vhost '/' process is stopped by supervisor", False),
        (
            404,
            "NOT_FOUND - home node 'r@b' of durable queue 'q' in vhost '/' is down or inaccessible",
            False,
        ),
        (405, "RESOURCE_LOCKED - cannot obtain exclusive access to locked queue 'q'", False),
    ],
)
def test_only_the_broker_s_word_that_there_is_no_queue_makes_it_gone(
    code: int, words: str, gone: bool
) -> None:
    assert is_gone(code, words) is gone


@pytest.mark.parametrize(
    ("words", "one"),
    [
        (
            "ACCESS_REFUSED - access to topic 'a.b' in exchange 'e' in vhost 'v' refused for 'u'",
            True,
        ),
        ("ACCESS_REFUSED - write access to topic 'a.b' in exchange 'e' refused for user 'u'", True),
        ("ACCESS_REFUSED - access to exchange 'e' in vhost '/' refused for user 'u'", False),
        ("ACCESS_REFUSED - access to exchange 'to topic' in vhost '/' refused for user 'u'", False),
    ],
)
def test_a_right_that_lacks_for_one_routing_key_is_told_from_one_for_the_exchange(
    words: str, one: bool
) -> None:
    assert is_one_topic(403, words) is one
