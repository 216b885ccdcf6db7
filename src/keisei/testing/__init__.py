"""Testing: what tests of keisei, and of anything built on it, can share.

Owns: Hypothesis strategies for every published record; a scripted model server for real harnesses; a private PostgreSQL
server; a clock that is moved by hand; the promises that every store keeps, and the checker of a run's history. Touches:
a port on loopback while the model runs; a folder, a Unix socket and processes while PostgreSQL does. Leaves to others:
what is tested. Public and kept stable, so that authors of adapters, bridges and stores can draw the same records, drive
the same harnesses and keep the same promises as our own tests. keisei runs without Hypothesis: only
`keisei.testing.strategies` imports it, and whoever imports that brings it along. `keisei hooks canary` uses the server.
"""
