"""Delivery: a fact's way from the outbox to every consumer's database, and back as a letter.

The rooms, in the order of the way, are in docs/how-a-fact-travels.md.
"""
