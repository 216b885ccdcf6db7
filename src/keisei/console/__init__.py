"""Console: pages for operators and authors, and their JSON twins.

Owns: console/ in the state folder (tokens, signing key, one-time links, ended sessions); reads the store and the
library, orders through the engine. Touches: sockets. Everything a browser sends passes `guard.py` first.
Leaves to others: what an order means (`engine/control.py`), what atoms are (`wiring/forge.py`).
"""
