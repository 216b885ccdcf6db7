"""Hooks: the gate's client in a harness's settings, put in and taken out again.

Owns: keisei's entries in `.claude/settings.json`, `.codex/hooks.json` and Codex's config.toml, and the backups beside
them. Touches: those files and nothing else in them. Leaves to others: what the hook answers, and starting harnesses.

The way in: `place` says which file, `edit` writes files whole or not at all, `merge` and `trust` change the text,
`install` and `status` are the verbs. `claude` and `codex` know what makes a harness ignore its settings. What is put in
is built by `adapters/hook_*`, for one attempt and for a user alike.
"""
