"""What only the broker's words tell, where one reply code stands for two different things.

Everywhere else a refusal is judged by its code alone. Each of these sentences has been RabbitMQ's
since 3.8; where another broker, or a later one, says it otherwise, the graver meaning is taken,
and the command ends with what was said.
"""

import re

ACCESS_REFUSED, NOT_FOUND, NOT_ALLOWED = 403, 404, 530


def is_gone(code: int, words: str) -> bool:
    """Whether there is no such queue; else it cannot be seen now.

    A queue whose node is down has the same code, 404
    (https://www.rabbitmq.com/docs/classic-queues).
    """
    return code == NOT_FOUND and words.startswith("NOT_FOUND - no queue")


def is_one_topic(code: int, words: str) -> bool:
    """Whether the right lacks for one routing key; else it lacks for the whole exchange.

    Topic permissions have the code of all others, 403
    (https://www.rabbitmq.com/docs/access-control#topic-authorisation).
    """
    return code == ACCESS_REFUSED and " to topic '" in words


def is_at_limit(code: int, words: str) -> bool:
    """Whether there are too many connections or channels now; else the virtual host is at fault.

    All have the code 530 (https://www.rabbitmq.com/docs/vhosts#limits,
    https://www.rabbitmq.com/docs/user-limits). A limit is told at the very end, behind any name.
    """
    return code == NOT_ALLOWED and _AT_LIMIT.search(words) is not None


_AT_LIMIT = re.compile(r"limit (\(\d+\) is reached|of \(\d+\))\Z")
