"""Predicates: what the verifies of capabilities ask of a candidate, pure. Each gives a reply; doubt is never held."""
