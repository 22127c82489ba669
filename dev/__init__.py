"""Development tooling: set-up, private services and the test run. Never imported by the product.

Whatever `make setup` runs before the virtual environment exists uses the standard library alone.
"""
