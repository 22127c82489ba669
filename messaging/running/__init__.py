"""What every process rests on: how long it lives, how it ends, and what it may say of itself.

Knows nothing of facts.
"""
