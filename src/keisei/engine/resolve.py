"""Resolve: an order has done what a person was asked about, so nobody has to decide it any more."""

from keisei.engine.ports import Store
from keisei.records.answer import ApprovalQuery, Decision
from keisei.records.approval import ApprovalStatus
from keisei.rules.approval import decided


def resolve(store: Store, key: str, reason: str, actor: str, status: ApprovalStatus = "resolved") -> None:
    """Close what is open under this key, with its event and its ledger row. Where nothing is, nothing happens."""
    for approval in store.approvals(ApprovalQuery(key=key)):
        after, beside = decided(approval, status, reason, actor, store.now())
        store.decide(Decision(approval=after, beside=beside))
