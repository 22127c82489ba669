"""The database as all delivery meets it: which failure is whose, and who waits for whom.

Knows nothing of facts.
"""
