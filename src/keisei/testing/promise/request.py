"""Requests: of any number at once one is carried out, all are answered alike, and none is remembered for ever."""

from datetime import timedelta

from keisei.engine.ports import Store
from keisei.records.request import KEPT_S, LARGEST_ANSWER, STALE_S, RequestAnswer, RequestRecord
from keisei.testing.promise.book import PARTIES, at_once, promise
from keisei.testing.promise.text import DOUBTFUL, LONG, STORED
from keisei.testing.queue import Desk, refused

BYTES = bytes(range(256))


def begun(desk: Desk, key: str = "k", actor: str = "ann", digest: str = "d") -> RequestRecord:
    """What is told to whoever asks so, now."""
    return desk.store.begin_request(key, actor, digest)


def answered(desk: Desk, request: RequestRecord, body: bytes = BYTES) -> bool:
    """Answer it so."""
    answer = RequestAnswer(key=request.key, actor=request.actor, fence=request.fence, status=201, body=body)
    return desk.store.answer_request(answer)


@promise
def a_request_is_begun_once_and_answered_alike_for_ever(desk: Desk) -> None:
    """Fresh, then open, then the answer byte for byte, at once and later; another store tells the same."""
    first = begun(desk)
    assert (first.state, first.fence, first.began_at) == ("fresh", 1, desk.clock.now())
    assert (first.key, first.actor, first.digest, first.status, first.body) == ("k", "ann", "d", None, None)
    desk.clock.advance(1)
    assert begun(desk) == RequestRecord(
        key="k", actor="ann", digest="d", state="open", fence=1, began_at=first.began_at
    )

    assert answered(desk, first)

    kept = begun(desk)
    assert (kept.state, kept.status, kept.body) == ("answered", 201, BYTES)
    desk.clock.advance(STALE_S * 10)
    assert begun(desk) == desk.another().begin_request("k", "ann", "d") == kept
    assert not answered(desk, first, b"another")
    assert not desk.store.withdraw_request("k", "ann", 1)
    assert begun(desk) == kept


@promise
def a_key_belongs_to_its_actor_and_to_what_was_asked(desk: Desk) -> None:
    """Another digest is a mismatch, open or answered, however old; another actor's key is another key."""
    first = begun(desk)

    assert (begun(desk, digest="e").state, begun(desk, digest="e").digest) == ("mismatch", "d")
    assert begun(desk, actor="bob", digest="e").state == "fresh"
    assert begun(desk, key="K").state == "fresh"
    assert answered(desk, first)
    desk.clock.advance(STALE_S * 2)
    other = begun(desk, digest="e")
    assert (other.state, other.status, other.body) == ("mismatch", None, None)
    assert begun(desk).state == "answered"


@promise
def of_many_who_send_the_same_one_carries_it_out(desk: Desk) -> None:
    """The others are told that it is under way. The same where a dead one is taken over."""
    stores = [desk.another() for _ in range(PARTIES)]

    def begin(store: Store) -> str:
        return store.begin_request("k", "ann", "d").state

    for _ in range(5):
        assert sorted(at_once(begin, stores)) == ["fresh", *["open"] * (PARTIES - 1)]
        desk.clock.advance(STALE_S)


@promise
def a_request_whose_process_died_is_taken_over(desk: Desk) -> None:
    """After an hour and not before, by the same digest; the one that was thought dead answers nothing any more."""
    first = begun(desk)
    desk.clock.advance(STALE_S - 1)
    assert begun(desk).state == "open"
    desk.clock.advance(1)
    assert begun(desk, digest="e").state == "mismatch"

    second = begun(desk)

    assert (second.state, second.fence, second.began_at) == ("fresh", 2, desk.clock.now())
    assert begun(desk).state == "open"
    assert not answered(desk, first)
    assert not desk.store.withdraw_request("k", "ann", first.fence)
    assert begun(desk).state == "open"
    assert answered(desk, second)
    assert begun(desk).state == "answered"


@promise
def a_clock_that_is_set_back_holds_up_no_request_for_long(desk: Desk) -> None:
    """One that seems to have begun in the future is taken over too."""
    begun(desk)
    desk.clock.jump(-STALE_S)
    assert begun(desk).state == "open"
    desk.clock.jump(-1)

    assert begun(desk).state == "fresh"


@promise
def a_request_that_was_not_carried_out_is_withdrawn(desk: Desk) -> None:
    """Then it is as if nobody had asked; whoever never began one withdraws nothing."""
    first = begun(desk)
    assert not desk.store.withdraw_request("k", "bob", 1)
    assert not desk.store.withdraw_request("k", "ann", 2)

    assert desk.store.withdraw_request("k", "ann", first.fence)

    assert not desk.store.withdraw_request("k", "ann", first.fence)
    assert not answered(desk, first)
    assert (begun(desk, digest="e").state, begun(desk, digest="e").state) == ("fresh", "open")


@promise
def of_an_answer_that_is_too_large_the_status_is_kept(desk: Desk) -> None:
    """The largest is kept whole."""
    assert answered(desk, begun(desk), b"x" * LARGEST_ANSWER)
    assert answered(desk, begun(desk, key="l"), b"x" * (LARGEST_ANSWER + 1))
    assert answered(desk, begun(desk, key="m"), b"")

    assert begun(desk).body == b"x" * LARGEST_ANSWER
    assert (begun(desk, key="l").state, begun(desk, key="l").status, begun(desk, key="l").body) == (
        "answered",
        201,
        None,
    )
    assert begun(desk, key="m").body == b""


@promise
def requests_are_forgotten_after_a_day(desk: Desk) -> None:
    """Whatever moment events are pruned by; open ones too; and no other request."""
    answered(desk, begun(desk))
    begun(desk, key="open")
    desk.clock.advance(KEPT_S)
    begun(desk, key="young")
    desk.store.prune(desk.clock.now() + timedelta(days=9))
    assert begun(desk).state == "answered"
    desk.clock.advance(1)

    assert desk.store.prune(desk.clock.now() - timedelta(days=900)) == 0

    assert [begun(desk, key=key, digest="e").state for key in ("k", "open", "young")] == ["fresh", "fresh", "mismatch"]


@promise
def strange_keys_are_kept_or_refused(desk: Desk) -> None:
    """As they are, or with a sentence; nobody's right is had by a strange name."""
    for text in STORED.values():
        assert begun(desk, key=text, actor=text, digest=text).state == "fresh"
        assert begun(desk, key=text, actor=text, digest=text).state == "open"
    for text in (*DOUBTFUL.values(), LONG, ""):
        for changes in ({"key": text}, {"actor": text}, {"digest": text}):
            with refused():
                begun(desk, **changes)
        assert not desk.store.withdraw_request(text, text, 1)
