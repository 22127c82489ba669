"""Refusals that have one code and two meanings."""

import pytest

from messaging.broker.refusal_words import is_at_limit, is_gone, is_one_topic

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


@pytest.mark.parametrize(
    ("words", "at_limit"),
    [
        ("access to vhost '/' refused for user 'u': connection limit (9) is reached", True),
        ("connection refused for user 'u': user connection limit (9) is reached", True),
        ("connection refused for user 'u': node connection limit (9) is reached", True),
        (
            "number of channels opened for user 'u' has reached the maximum allowed user limit"
            " of (9)",
            True,
        ),
        ("vhost limit (9) is reached not found", False),
        ("access to vhost 'limit (9) is reached' refused for user 'limit (9) is reached'", False),
        ("access to vhost 'v' refused for user 'u': vhost 'v' is down", False),
    ],
)
def test_a_limit_that_is_reached_is_told_from_a_virtual_host_that_is_closed(
    words: str, at_limit: bool
) -> None:
    assert is_at_limit(530, f"NOT_ALLOWED - {words}") is at_limit
