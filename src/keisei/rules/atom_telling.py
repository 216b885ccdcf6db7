"""An atom as data, in one shape for every door: its page, its schemas, what follows from its effects."""

from typing import Any

from keisei.contracts.check import data_of
from keisei.records.atom import AtomManifest
from keisei.records.atom_spec import AtomSpec
from keisei.rules.atom_effect import conflict, is_safe_again_words, may_cache_words, may_retry_words


def decisions(manifest: AtomManifest) -> dict[str, str]:
    """What follows from kind and effects, a sentence each."""
    domains = ", ".join(f"`{each}`" for each in conflict(manifest, manifest))
    alone = f"two calls of it never overlap: {domains} is changed" if domains else "any number of calls may overlap"
    if any(each.op == "other" for each in manifest.side_effects):
        alone = "nothing runs beside it: its effect `other` says nothing of itself"
    return {
        "parallel": alone,
        "again": is_safe_again_words(manifest),
        "retry": may_retry_words(manifest),
        "cache": may_cache_words(manifest),
    }


def atom_data(spec: AtomSpec) -> dict[str, Any]:
    """Everything that is known of an atom."""
    package = spec.package
    return {
        "atom": spec.id,
        "summary": spec.summary,
        "manifest": data_of(spec.manifest),
        "decisions": decisions(spec.manifest),
        "input_schema": spec.input_schema,
        "output_schema": spec.output_schema,
        "spec_sha": spec.spec_sha,
        "page": spec.page,
        "function": spec.function,
        "package": {
            "name": package.name,
            "version": package.version,
            "folder": package.folder,
            "language": package.language,
            "metadata": data_of(package.metadata),
        },
    }
