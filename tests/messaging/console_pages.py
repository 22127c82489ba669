"""Addresses and rights of the console, as its tests name them."""

from collections.abc import Callable

from django.test import Client

LIST = "/admin/messaging/deadletter/"
QUEUES = "/admin/messaging/pause/"
ALL_RIGHTS = (
    "view_deadletter",
    "view_payload",
    "requeue_deadletter",
    "correct_deadletter",
    "discard_deadletter",
    "pause_delivery",
)

SignIn = Callable[..., Client]


def letter_url(letter_id: int, page: str = "change") -> str:
    return f"{LIST}{letter_id}/{page}/"


def decision_url(verb: str, *ids: int, **parameters: str) -> str:
    query = {"ids": ",".join(map(str, ids)), **parameters} if ids else parameters
    return f"{LIST}{verb}/?" + "&".join(f"{name}={value}" for name, value in query.items())
