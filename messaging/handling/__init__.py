"""From a consumer's queue to its database: a fact is read, applied with a receipt, and acked.

`worker` is the way; what fails leaves by `handover`, to be retried or to become a dead letter.
"""
