"""Testing: what tests of keisei, and of anything built on it, can share.

Owns: Hypothesis strategies for every published record, a scripted model server for real harnesses, a private PostgreSQL
server, and the promises that every store keeps. Touches: a port
on loopback while that server runs. Leaves to others: what is tested. Public and kept stable, so that authors of
adapters and bridges can draw the same records, and drive the same harnesses, as our own tests. keisei runs without
Hypothesis: only `keisei.testing.strategies` imports it, and whoever imports that brings it along. `keisei hooks canary`
uses the server.
"""
