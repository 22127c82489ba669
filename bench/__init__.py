"""Benchmarks: the product beside what limits it and what competes with it."""
