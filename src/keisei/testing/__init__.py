"""Testing: what tests of keisei, and of anything built on it, can share.

Owns: Hypothesis strategies for every published record. Touches: nothing. Leaves to others: what is tested. Public and
kept stable, so that authors of adapters and bridges can draw the same records as our own tests. keisei runs without
Hypothesis: only `keisei.testing.strategies` imports it, and whoever imports that brings it along.
"""
