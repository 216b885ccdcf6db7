"""What `prepare` prints, in the originals' order."""

KEYS = [
    "agent_id",
    "role",
    "prompt",
    "subagent_type",
    "isolation",
    "description",
    "verify_command",
    "ledger_row",
    "dna",
]
