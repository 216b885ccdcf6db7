"""agents/<name>/agent.toml, with its SOUL.md and PURPOSE.md."""

# ruff: noqa: E501 - a message stands on one line here, as it is compared

from tests.library.malformed.case import Kind, case

HERE = "agents/indra"
MAIN = f"{HERE}/agent.toml"
SOUL = f"{HERE}/SOUL.md"
PURPOSE = f"{HERE}/PURPOSE.md"

KIND = Kind(
    "agent",
    MAIN,
    {
        MAIN: """\
[identity]
agent_id = "indra"
internal_name = "indra"
display_name = "Indra"
soul_ref = "SOUL.md"
purpose_ref = "PURPOSE.md"
host = "vm-1"

[identity.external_name]
name = "Trustless Indra"
registered_at = 2026-04-22T15:30:00Z
source = "aibtc-api"
wallet_ref = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"

[identity.onchain_identity]
contract = "SP000.identity-registry"
token_id = "7"

[constitution]
version = "1.0.0"
revised_at = 2026-04-22T15:30:00Z

[[wallets]]
chain = "bitcoin"
address = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"

[[wallets]]
chain = "stacks"
address = "SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7"
onchain_identity_contract = "SP000.identity-registry"
capabilities = ["sign"]
""",
        SOUL: "I am.\n",
        PURPOSE: "I do.\n",
    },
    by="agent",
)

IDENTITY = '[identity]\nagent_id = "indra"\n'
MARK = '[constitution]\nversion = "1.0.0"\nrevised_at = 2026-04-22T15:30:00Z\n'
REGISTERED = "registered_at = 2026-04-22T15:30:00Z"
REVISED = '"1.0.0"\nrevised_at = 2026-04-22T15:30:00Z'

CASES = [
    case("empty-file", "missing-key", write={MAIN: "‸"}, says="missing key `identity`"),
    case(
        "no-identity",
        "missing-key",
        write={MAIN: '‸[[wallets]]\nchain = "bitcoin"\naddress = "bc1"\n'},
        says="missing key `identity`",
    ),
    case("no-agent-id", "missing-key", (IDENTITY, "‸[identity]\n"), says="missing key `agent_id`"),
    case(
        "no-display-name",
        "missing-key",
        ('display_name = "Indra"\n', ""),
        ("[identity]\n", "‸[identity]\n"),
        says="missing key `display_name`",
    ),
    case(
        "identity-is-text",
        "wrong-type",
        write={MAIN: 'identity = ‸"indra"\n'},
        says="`identity` must be an object, not a string",
    ),
    case(
        "identity-is-a-list",
        "wrong-type",
        write={MAIN: '‸[[identity]]\nagent_id = "indra"\n'},
        says="`identity` must be an object, not a list",
    ),
    case(
        "key-misspelt",
        "unknown-key",
        ("display_name", "‸displayname"),
        also=("missing-key",),
        says="unknown key `displayname`",
        hint="did you mean `display_name`?",
    ),
    case(
        "key-with-a-dash",
        "unknown-key",
        ("soul_ref", "‸soul-ref"),
        says="unknown key `soul-ref`",
        hint="did you mean `soul_ref`?",
    ),
    case(
        "key-unlike-any",
        "unknown-key",
        ('host = "vm-1"', "‸zzz = 1"),
        says="unknown key `zzz`",
        hint="known keys: agent_id, internal_name, external_name, onchain_identity, display_name, codename, purpose_ref, soul_ref, host, user, runtime_instance_id, metadata",
    ),
    case(
        "table-misspelt",
        "unknown-key",
        ("[constitution]", "[‸constitutions]"),
        says="unknown key `constitutions`",
        hint="did you mean `constitution`?",
    ),
    case(
        "wallet-key-misspelt",
        "unknown-key",
        ("capabilities =", "‸capability ="),
        says="unknown key `capability`",
        hint="did you mean `capabilities`?",
    ),
    case(
        "wallets-in-one-table",
        "wrong-type",
        write={
            MAIN: '[identity]\nagent_id = "indra"\ninternal_name = "indra"\ndisplay_name = "Indra"\n\n‸[wallets]\nchain = "bitcoin"\n'
        },
        says="`wallets` must be a list, not an object",
    ),
    case(
        "wallet-without-address",
        "missing-key",
        (
            '[[wallets]]\nchain = "bitcoin"\naddress = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"\n',
            '‸[[wallets]]\nchain = "bitcoin"\n',
        ),
        says="missing key `address`",
    ),
    case(
        "wallet-without-chain",
        "missing-key",
        ('[[wallets]]\nchain = "stacks"\n', "‸[[wallets]]\n"),
        says="missing key `chain`",
    ),
    case("wallet-address-empty", "wrong-value", ('"SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7"\n', '‸""\n')),
    case(
        "wallet-uses-are-text",
        "wrong-type",
        ('["sign"]', '‸"sign"'),
        says="`capabilities` must be a list, not a string",
    ),
    case(
        "wallet-of-another-agent",
        "identity-conflict",
        ('chain = "bitcoin"', 'agent_id = ‸"varuna"\nchain = "bitcoin"'),
    ),
    case(
        "id-of-another-folder",
        "bad-name",
        ('agent_id = "indra"\ninternal_name = "indra"', 'agent_id = ‸"varuna"\ninternal_name = "varuna"'),
        says="agent_id `varuna` differs from the folder `indra`",
    ),
    case(
        "id-unlike-the-internal-name",
        "wrong-value",
        ('internal_name = "indra"', 'internal_name = "varuna"'),
        ("[identity]\n", "‸[identity]\n"),
        says="agent_id `indra` must equal internal_name `varuna`",
    ),
    case(
        "id-in-capitals",
        "wrong-value",
        (IDENTITY, '[identity]\nagent_id = ‸"Indra"\n'),
        says="`agent_id` must be lower-case letters, digits, `_` and `-`, not `Indra`",
    ),
    case(
        "id-is-a-number",
        "wrong-type",
        (IDENTITY, "[identity]\nagent_id = ‸1\n"),
        says="`agent_id` must be a string, not an integer",
    ),
    case("display-name-empty", "wrong-value", ('"Indra"', '‸""')),
    case("soul-missing", "missing-file", ('"SOUL.md"', '‸"SOULS.md"'), says="`SOULS.md` is missing"),
    case(
        "purpose-missing",
        "missing-file",
        ('"PURPOSE.md"', '‸"PURPOSE.md"'),
        write={PURPOSE: None},
        says="`PURPOSE.md` is missing",
    ),
    case(
        "soul-climbs-out",
        "wrong-value",
        ('"SOUL.md"', '‸"../../SOUL.md"'),
        says="`soul_ref` must be a relative path without `..`, not `../../SOUL.md`",
    ),
    case(
        "soul-absolute",
        "wrong-value",
        ('"SOUL.md"', '‸"/etc/hostname"'),
        says="`soul_ref` must be a relative path without `..`, not `/etc/hostname`",
    ),
    case(
        "soul-missing-and-not-named",
        "missing-file",
        ('soul_ref = "SOUL.md"\n', ""),
        ("[constitution]", "‸[constitution]"),
        write={SOUL: None},
        says="`SOUL.md` is missing",
    ),
    case("papers-without-a-constitution", "missing-key", (MARK, "")),
    case(
        "constitution-without-version",
        "missing-key",
        (MARK, "‸[constitution]\nrevised_at = 2026-04-22T15:30:00Z\n"),
        says="missing key `version`",
    ),
    case(
        "constitution-without-time",
        "missing-key",
        (MARK, '‸[constitution]\nversion = "1.0.0"\n'),
        says="missing key `revised_at`",
    ),
    case(
        "constitution-version-is-a-number",
        "wrong-type",
        ('version = "1.0.0"', "version = ‸1.0"),
        says="`version` must be a string, not a number",
    ),
    case(
        "time-is-a-date",
        "wrong-value",
        (REVISED, '"1.0.0"\nrevised_at = ‸2026-04-22'),
        says="`revised_at` must be a time such as `2026-04-22T15:30:00Z`, not `2026-04-22`",
    ),
    case(
        "time-without-a-zone",
        "wrong-value",
        (REVISED, '"1.0.0"\nrevised_at = ‸2026-04-22T15:30:00'),
        says="`revised_at` must be a time such as `2026-04-22T15:30:00Z`, not `2026-04-22T15:30:00`",
    ),
    case(
        "time-is-text",
        "wrong-value",
        (REVISED, '"1.0.0"\nrevised_at = ‸"yesterday"'),
        says="`revised_at` must be a time such as `2026-04-22T15:30:00Z`, not `yesterday`",
    ),
    case(
        "time-of-day",
        "wrong-value",
        (REVISED, '"1.0.0"\nrevised_at = ‸15:30:00'),
        says="`revised_at` must be a time such as `2026-04-22T15:30:00Z`, not `15:30:00`",
    ),
    case(
        "time-is-a-number",
        "wrong-type",
        (REVISED, '"1.0.0"\nrevised_at = ‸1776871800'),
        says="`revised_at` must be a string, not an integer",
    ),
    case(
        "day-that-is-none",
        "syntax",
        (REVISED, '"1.0.0"\nrevised_at = ‸2026-02-30T15:30:00Z'),
        says="invalid date or datetime",
    ),
    case("registered-at-no-time", "wrong-value", (REGISTERED, 'registered_at = ‸""')),
    case(
        "name-without-source",
        "missing-key",
        ("[identity.external_name]\n", "‸[identity.external_name]\n"),
        ('source = "aibtc-api"\n', ""),
        says="missing key `source`",
    ),
    case(
        "name-from-nowhere",
        "wrong-value",
        ('"aibtc-api"', '‸"aibtc-ap"'),
        says="`source` must be one of `aibtc-api`, `local-cache`, not `aibtc-ap`",
        hint="did you mean `aibtc-api`?",
    ),
    case(
        "name-of-another-wallet",
        "identity-conflict",
        ('wallet_ref = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"', 'wallet_ref = ‸"bc1qabc"'),
        says="external_name.wallet_ref `bc1qabc` is none of the agent's wallets",
    ),
    case(
        "contract-is-no-principal",
        "wrong-value",
        ('contract = "SP000.identity-registry"\ntoken', 'contract = ‸"identity registry"\ntoken'),
    ),
    case(
        "contract-of-another-wallet",
        "identity-conflict",
        ('contract = "SP000.identity-registry"\ncap', 'contract = ‸"SP111.identity-registry"\ncap'),
        says="wallet `SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7` is linked to `SP111.identity-registry`, but onchain_identity.contract is `SP000.identity-registry`",
    ),
    case(
        "contract-without-the-agent-s",
        "identity-conflict",
        ('[identity.onchain_identity]\ncontract = "SP000.identity-registry"\ntoken_id = "7"\n', ""),
        ('contract = "SP000.identity-registry"\ncap', 'contract = ‸"SP000.identity-registry"\ncap'),
    ),
    case(
        "metadata-is-text",
        "wrong-type",
        ('host = "vm-1"', 'metadata = ‸"x"'),
        says="`metadata` must be an object, not a string",
    ),
    case(
        "key-twice",
        "duplicate-key",
        ('host = "vm-1"', 'host = "vm-1"\n‸host = "vm-2"'),
        says="this key or table is already there",
    ),
    case("table-twice", "duplicate-key", ("[constitution]", "‸[identity]"), says="this key or table is already there"),
    case(
        "value-without-quotes",
        "syntax",
        ('host = "vm-1"', "host = ‸vm-1"),
        says="invalid value",
        hint='put text in quotes: `host = "vm-1"`',
    ),
    case("text-not-closed", "syntax", ('host = "vm-1"', 'host = "vm-1‸'), says="illegal character '\\n'"),
    case("soul-of-300-letters", "missing-file", ('"SOUL.md"', f'‸"{"s" * 300}"')),
]
