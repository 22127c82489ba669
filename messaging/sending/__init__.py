"""From the outbox to the broker: rows are read, published, confirmed and marked.

`relay` is the way; it knows nothing of what consumers do with a fact.
"""
