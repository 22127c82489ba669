"""What became of a fact that failed for good: collected, explained, decided on, sent again.

In by `collector`, back by `redrives` through the outbox, ended by the receipt (`resolution`).
"""
