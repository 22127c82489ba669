"""How people watch over the way and hold it up: state, pace, pauses, the log of decisions.

The ways ask here whether they are paused, and cleaning up is done from here.
"""
