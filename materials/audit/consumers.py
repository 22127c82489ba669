"""Subscribes the audit to every fact about a material; found by messaging.apps at start."""

from materials.audit.description import describe
from materials.audit.projection import apply
from messaging.registry import Consumer, register_consumer

register_consumer(Consumer(name="audit", patterns=("material.*",), apply=apply, describe=describe))
