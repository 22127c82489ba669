"""Subscribes the catalog to every fact about a material; found by messaging.apps at start."""

from materials.catalog.description import describe
from materials.catalog.projection import apply
from messaging.registry import Consumer, register_consumer

register_consumer(
    Consumer(
        name="catalog",
        patterns=("material.*",),
        apply=apply,
        newest_wins=True,
        describe=describe,
    )
)
