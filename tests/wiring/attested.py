"""A project with an attempt that is over, and what is attested of it."""

from contextlib import suppress

from keisei.records.move import LandingQuery
from keisei.rules.evidence import keys_of
from keisei.wiring.attestation import Archive, gather
from keisei.wiring.attestation_note import repository
from keisei.wiring.attestation_verify import verify_here
from keisei.wiring.signing import signer
from tests.wiring.test_landing import Yard

DEED = """file=src/new.txt; echo new > $file; echo told > "$AGENT_RUNTIME_ARTIFACT_DIR/told.txt"
printf '{"status":"completed","operator_summary":"done","file_changes":["src/new.txt"],"artifact_paths":["told.txt"]}'
exit 0"""


class Bench:
    """A project with an attempt, and what is attested of it."""

    def __init__(self, folder, **project):
        self.folder = folder
        self.yard = Yard(folder)
        self.yard.says(**project)
        self.archive = Archive(self.yard.home, self.yard.store)
        self.yard.agent(DEED)

    def works(self):
        """One task, run to its end; its attempt."""
        with suppress(ValueError):  # what was rejected has no landing
            self.yard.work()
        (self.attempt,) = self.yard.store.attempts(None, 1)
        return self.attempt

    def lands(self):
        """The landing of that attempt, made on a main that has moved meanwhile."""
        self.yard.commit(other="o\n")
        (held,) = self.yard.store.landings(LandingQuery(attempt_id=self.attempt.attempt_id))
        self.landing = self.yard.land(held.landing_id)
        assert self.landing.status == "landed"
        return self.landing

    def gathered(self):
        return gather(self.archive, self.attempt)

    def verified(self):
        return verify_here(self.archive, self.gathered())

    @property
    def key(self):
        return signer(self.archive.home.folder, self.archive.home.name)

    @property
    def common_dir(self):
        return repository(self.archive)

    def evidence(self, name):
        keys = keys_of(self.attempt.attempt_id, self.attempt.started_at)
        return self.archive.home.evidence / keys.of(name)
