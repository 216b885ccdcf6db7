"""Contracts: the published JSON Schemas, and the one way from data to a record.

Owns: schemas/ (generated from records), examples/. Touches: its own package data. Leaves to others: where data comes
from, what a valid record means.
"""
