"""The client of the service, on a real service."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from crossbandit.algorithms.learners.tokens import Token
from crossbandit.errors import (
    DamagedTokenError,
    DecisionError,
    InvalidContextError,
    InvalidLossesError,
    InvalidParameterError,
    OutboxFullError,
    RefusedError,
    ServiceAwayError,
    UnsentOutcomesError,
)
from crossbandit.service import BidderSettings, BudgetSettings, CampaignSettings, Node, open_store
from crossbandit.service.client import AsyncClient, Client, ServedBid
from crossbandit.service.http import Access, AccessToken, create_app
from tests.service.live import eventually, served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BUDGET = BudgetSettings(10.0, per=None, pacing="asap")
SETTINGS = {
    "plain": BidderSettings(value_range=(0.0, 10.0), bids=11),
    "limited": BidderSettings(value_range=(0.0, 10.0), bids=11, budget=BUDGET),
    "limited too": BidderSettings(
        value_range=(0.0, 10.0), bids=11, budget=BUDGET, classes=("site", "device")
    ),
}
AWAY = "http://127.0.0.1:1"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    made = Node(open_store(tmp_path_factory.mktemp("client") / "s.db"), publish=0.02, poll=0.05)
    made.start()
    for name, settings in SETTINGS.items():
        made.create(name, settings)
    yield made
    made.close()


@pytest.fixture(scope="module")
def url(node: Node) -> Iterator[str]:
    with served(create_app(node)) as address:
        yield address


def learned(node: Node, name: str = "plain") -> int:
    figures = node.figures(name)
    return figures.won + figures.lost


def test_a_campaign_is_named_like_any_class(node: Node, url: str) -> None:
    shoes = CampaignSettings(BudgetSettings(40.0, pacing="asap"))
    campaigns = {"shoes": shoes, "free": CampaignSettings()}
    node.create("shop", BidderSettings(value_range=(0.0, 10.0), bids=11, campaigns=campaigns))
    with Client(url, bidder="shop") as client:
        bid = client.decide(9.0, campaign="shoes")
        assert isinstance(bid, ServedBid)
        client.outcome(bid, won=True)
        many = client.decide_many([9.0] * 4, campaign=["shoes", "free"] * 2)
        assert not client.local
        with pytest.raises(RefusedError, match="Existing campaigns: free, shoes") as caught:
            client.decide(9.0, campaign="hats")
        assert (caught.value.code, caught.value.status) == ("unknown-campaign", 404)
        client.outcomes(many, won=[one.amount is not None for one in many])
        client.flush()
    eventually(lambda: learned(node, "shop") == client.accepted)
    spent = sum(float(one.amount or 0.0) for one in [bid, many[0], many[2]])
    assert node.figures("shop").campaigns["shoes"].spend == spent > 0
    node.delete("shop")


def test_an_outcome_that_contradicts_an_earlier_one_is_refused(url: str) -> None:
    with Client(url, bidder="plain") as client:
        bid = next(one for one in client.decide_many([9.0] * 50) if one.amount)
        for won in (True, True, False):
            client.outcome(bid, won=won, highest_competing_bid=None if won else 9.5)
        client.flush()
        assert (client.accepted, client.refused) == (2, 1)
        assert client.refusals[0].code == "reported-otherwise"
        client.outcome(bid, won=False, highest_competing_bid=9.5, correction=True)
        client.flush()
        assert client.accepted == 3


@pytest.mark.parametrize("short", ["reserve", "site"])
def test_a_column_of_another_length_is_refused_before_anything_is_sent(
    url: str, short: str
) -> None:
    given: dict[str, Any] = {"site": "a", "device": 1, short: [1.0, 2.0]}
    message = f"'{short}'.* for each of 3 bids. Got 2"
    with (
        Client(url, bidder="limited too") as client,
        pytest.raises(InvalidContextError, match=message),
    ):
        client.decide_many([5.0] * 3, **given)


def test_decides_locally_and_ships_outcomes(url: str, node: Node) -> None:
    before = learned(node)
    with Client(url, bidder="plain", poll=0.05, batch=7) as client:
        for i in range(25):
            bid = client.decide(6.0)
            won = i % 2 == 0 and bid.amount != 0.0
            client.outcome(bid, won=won, highest_competing_bid=None if won else 9.0)
        assert client.local
        client.flush()
        assert (client.waiting, client.accepted, client.refused) == (0, 25, 0)
        eventually(lambda: learned(node) == before + 25)
        eventually(lambda: client.version == node.figures("plain").last)
        assert client.age is not None
        policy = client._policy.decider
        assert policy is not None
        np.testing.assert_array_equal(policy.policy(6.0), node.bidder("plain").policy(6.0))


def test_a_client_remains_one_decider(url: str) -> None:
    with Client(url, bidder="plain", poll=0.05) as client:
        first = client.decide(6.0)
        version = client.version
        client.outcome(first, won=False, highest_competing_bid=9.0)
        eventually(lambda: client.version != version)
        second: Any = client.decide(6.0).decision
        made: Any = first.decision
        assert second.decider == made.decider
        assert second.round == made.round + 1


def test_many_at_once(url: str, node: Node) -> None:
    before = learned(node)
    with Client(url, bidder="plain") as client:
        bids = client.decide_many([2.0, 5.0, 9.0, 3.0], reserve=[np.nan, 2.0, np.nan, 8.0])
        assert np.isnan(bids.amounts).tolist() == [False, False, False, True]
        client.outcomes(bids, won=[False] * 4, highest_competing_bid=[9.5, 9.5, 9.5, np.nan])
        client.outcomes([client.decide(5.0).text], won=False, highest_competing_bid=10.0)
    assert client.accepted == 4
    eventually(lambda: learned(node) == before + 4)


def test_an_outcome_counts_once_and_a_wrong_one_is_shown(url: str, node: Node) -> None:
    before = learned(node)
    with Client(url, bidder="plain") as client:
        bid = client.decide(6.0)
        for token in (bid, bid.text, bid.token):
            client.outcome(token, won=False, highest_competing_bid=9.0)
        client.outcome("no token", won=True)
        client.flush()
        assert (client.accepted, client.refused) == (3, 1)
        (refused,) = client.refusals
        assert refused.code == "damaged-token"
        assert refused.outcome == {"token": "no token", "won": True}
    eventually(lambda: learned(node) > before and node.figures("plain").lag == 0)
    assert learned(node) == before + 1


def test_wrong_arguments_are_refused_at_once(url: str) -> None:
    with Client(url, bidder="plain") as client:
        with pytest.raises(InvalidContextError, match="at most 10"):
            client.decide(11.0)
        bid = client.decide(6.0)
        with pytest.raises(InvalidLossesError, match="'won' parameter of outcome"):
            client.outcome(bid, won="yes")  # type: ignore[arg-type]
        with pytest.raises(InvalidLossesError, match="'highest_competing_bid' parameter of outc"):
            client.outcome(bid, won=False, highest_competing_bid=-1.0)
        with pytest.raises(DecisionError, match="takes a bid or its token"):
            client.outcome(3, won=False)  # type: ignore[arg-type]
        with pytest.raises(DecisionError, match="no bid was made"):
            client.outcome(client.decide(3.0, reserve=5.0), won=False)
        with pytest.raises(InvalidLossesError, match="for each of 1 bids"):
            client.outcomes([bid], won=[True, False])
        assert client.waiting == client.accepted == 0


def test_the_service_decides_for_a_bidder_with_limits(url: str, node: Node) -> None:
    assert len(node.directory.all()) == len(SETTINGS)
    eventually(lambda: all(one.state for one in node.directory.all()))
    with Client(url, bidder="limited") as client:
        bids = [client.decide(10.0) for _ in range(20)]
        assert client.local is False
        assert isinstance(bids[0], ServedBid)
        assert sum(float(bid) for bid in bids) <= 10.0
        assert any("leaves" in (bid.reason or "") for bid in bids)
        for bid in bids:
            if bid.amount is not None:
                client.outcome(bid, won=False, highest_competing_bid=10.0)
        client.flush()
        eventually(lambda: node.figures("limited").lost == client.accepted)
        none = ServedBid(None, None, 5.0)
        with pytest.raises(DecisionError, match="no bid was made"):
            none.token  # noqa: B018


def test_many_decisions_of_the_service(url: str) -> None:
    with Client(url, bidder="limited too") as client:
        bids = client.decide_many(
            [5.0, 6.0],
            reserve=[np.nan, 1.0],
            at=time.time(),
            site=["a", "b"],
            device=np.array([1, 2]),
        )
        assert [bid.classes for bid in bids] == [("a", 1), ("b", 2)]
        assert [bid.reserve for bid in bids] == [None, 1.0]
        one = client.decide(6.0, reserve=1.0, site="a", device=1)
        assert one.classes == ("a", 1)
        with pytest.raises(RefusedError, match="'classes' must hold 'site', 'device'") as caught:
            client.decide(6.0)
        assert (caught.value.code, caught.value.status) == ("invalid", 400)


def test_a_pause_is_followed(url: str, node: Node) -> None:
    with Client(url, bidder="plain", poll=0.02) as client:
        client.decide(5.0)
        node.pause("plain")
        try:
            eventually(lambda: client._policy.decider is None)
            with pytest.raises(RefusedError, match="is paused") as caught:
                client.decide(5.0)
            assert caught.value.code == "paused"
        finally:
            node.resume("plain")
        eventually(lambda: client._policy.decider is not None)
        assert client.decide(5.0).amount is not None


def test_an_unknown_bidder(url: str) -> None:
    client = Client(url, bidder="nobody")
    with pytest.raises(RefusedError, match="There is no bidder 'nobody'") as caught:
        client.decide(5.0)
    assert caught.value.status == 404
    client.outcome("token", won=True)
    with pytest.raises(UnsentOutcomesError, match=r"acknowledged 1 outcomes\. The last") as left:
        client.close()
    assert left.value.outcomes == [{"token": "token", "won": True}]
    with pytest.raises(UnsentOutcomesError, match="is closed"):
        client.outcome("token", won=True)


def test_without_a_service() -> None:
    client = Client(AWAY, bidder="plain", timeout=0.2, room=3)
    with pytest.raises(ServiceAwayError, match=r"There is no snapshot yet.*does not answer"):
        client.decide(5.0)
    for _ in range(3):
        client.outcome("token", won=True, highest_competing_bid=1.5, reserve=1.0, correction=True)
    with pytest.raises(OutboxFullError, match=r"3 outcomes are waiting .* there is room for 3"):
        client.outcome("token", won=True)
    with pytest.raises(UnsentOutcomesError, match="has not acknowledged 3"):
        client.flush(0.05)
    with pytest.raises(UnsentOutcomesError) as caught:
        client.close(0.05)
    row = {"highest_competing_bid": 1.5, "reserve": 1.0, "correction": True}
    assert caught.value.outcomes == [{"token": "token", "won": True, **row}] * 3


def test_works_while_the_service_is_away(node: Node) -> None:
    """It decides from the snapshot that it has, and ships outcomes once the service is back."""
    before = learned(node)
    with served(create_app(node)) as address:
        client = Client(address, bidder="plain", poll=0.02, timeout=1.0)
        bids = [client.decide(6.0)]
    bids += [client.decide(6.0) for _ in range(5)]
    for bid in bids:
        client.outcome(bid, won=False, highest_competing_bid=9.0)
    with pytest.raises(UnsentOutcomesError):
        client.flush(0.1)
    assert isinstance(client.error, ServiceAwayError)
    assert client.waiting == 6
    with served(create_app(node), port=int(address.rpartition(":")[2])):
        client.flush()
        assert client.accepted == 6
        eventually(lambda: client.error is None)
        client.close()
    eventually(lambda: learned(node) == before + 6)


def test_if_an_answer_is_lost_outcomes_count_once(node: Node) -> None:
    """The service has stored a batch, but its answer does not come, twice."""
    app = create_app(node)
    lost: list[int] = []

    async def flaky(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or not scope["path"].endswith("/outcomes") or len(lost) == 2:
            await app(scope, receive, send)
            return

        async def nothing(message: Any) -> None:
            lost.extend([1] if message["type"] == "http.response.start" else [])

        await app(scope, receive, nothing)
        raise ConnectionError("the network")

    before = node.figures("plain")
    with served(flaky) as address, Client(address, bidder="plain") as client:
        bids = client.decide_many([6.0] * 10)
        client.outcomes(bids, won=[False] * 10, highest_competing_bid=9.0)
        client.flush()
        assert (client.accepted, client.refused) == (10, 0)
    eventually(lambda: node.figures("plain").learned == before.learned + 30)
    after = node.figures("plain")
    assert after.won + after.lost == before.won + before.lost + 10
    repeated = after.refused["learned-before"] - before.refused.get("learned-before", 0)
    assert repeated == 20


@pytest.mark.parametrize("answer", ['{"accepted": 9, "errors": []}', "[]", "{}", "<html>"])
def test_an_answer_that_does_not_fit_acknowledges_nothing(answer: str) -> None:
    async def strange(scope: Any, receive: Any, send: Any) -> None:
        del receive
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": answer.encode()})

    with served(strange) as address:
        client = Client(address, bidder="plain")
        client.outcomes(["a", "b"], won=[True, True])
        eventually(lambda: client._outbox.error is not None)
        assert isinstance(client._outbox.error, ServiceAwayError)
        with pytest.raises(UnsentOutcomesError, match="has not acknowledged 2"):
            client.close(0.1)


def test_batches_that_are_too_large_are_split(node: Node) -> None:
    before = learned(node)
    with served(create_app(node, most_bytes=600)) as address:
        with Client(address, bidder="plain", batch=40) as client:
            bids = client.decide_many([6.0] * 40)
            client.outcomes(bids, won=[False] * 40, highest_competing_bid=9.0)
        assert (client.accepted, client.refused) == (40, 0)
        with Client(address, bidder="plain") as client:
            client.outcome("x" * 1_000, won=True)
        assert [one.code for one in client.refusals] == ["too-large"]
    eventually(lambda: learned(node) == before + 40)


def test_a_client_slows_down_if_it_is_asked_to(node: Node) -> None:
    before = learned(node)
    access = Access([AccessToken("web", ["decide", "report"], secret="0123456789abcdef", rate=5)])  # noqa: S106
    with served(create_app(node, access=access)) as address:
        token = "0123456789abcdef"  # noqa: S105 - for this test
        with Client(address, bidder="plain", token=token, batch=1, poll=60.0) as client:
            bids = client.decide_many([6.0] * 12)
            client.outcomes(bids, won=[False] * 12, highest_competing_bid=9.0)
        assert (client.accepted, client.refused) == (12, 0)
    eventually(lambda: learned(node) == before + 12)


def test_signed_tokens(tmp_path: Path) -> None:
    key = b"a key"
    node = Node(open_store(tmp_path / "s.db"), key=key, poll=0.05)
    node.start()
    node.create("plain", SETTINGS["plain"])
    secret = "0123456789abcdef"  # noqa: S105 - for this test
    access = Access([AccessToken("web", ["decide", "report"], secret=secret)])
    with served(create_app(node, access=access)) as address:
        for own, local, code in (
            (key, True, None),
            (None, False, None),
            (b"another", True, "damaged-token"),
        ):
            with Client(address, bidder="plain", token=secret, key=own) as client:
                client.outcome(client.decide(6.0), won=False, highest_competing_bid=9.0)
                client.flush()
                assert client.local is local
                assert [one.code for one in client.refusals] == ([] if code is None else [code])
                assert secret not in repr(client) + repr(vars(client))
        wrong = Client(address, bidder="plain", token="wrong")  # noqa: S106
        with pytest.raises(RefusedError) as caught:
            wrong.decide(6.0)
        assert caught.value.code == "unauthorized"
        wrong.close()
    node.close()


def test_a_client_gets_the_key_that_the_store_keeps(url: str, node: Node) -> None:
    before = learned(node)
    with Client(url, bidder="plain") as client:
        bid = client.decide(6.0)
        assert client.local
        with pytest.raises(DamagedTokenError):
            Token.decode(bid.token)  # it is signed
        client.outcome(bid, won=False, highest_competing_bid=9.0)
    assert (client.accepted, client.refused) == (1, 0)
    eventually(lambda: learned(node) == before + 1)


def test_many_threads(url: str, node: Node) -> None:
    before = learned(node)
    with Client(url, bidder="plain", poll=0.01, batch=10) as client:

        def play() -> None:
            for _ in range(50):
                client.outcome(client.decide(6.0), won=False, highest_competing_bid=9.0)

        threads = [threading.Thread(target=play) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (client.accepted, client.refused) == (200, 0)
    eventually(lambda: learned(node) == before + 200)


def test_asyncio(url: str, node: Node) -> None:
    before = learned(node)

    async def play() -> None:
        async with AsyncClient(url, bidder="plain") as client:
            bids = await asyncio.gather(*(client.decide(6.0) for _ in range(10)))
            for bid in bids:
                await client.outcome(bid, won=False, highest_competing_bid=9.0)
            many = await client.decide_many([5.0, 6.0])
            await client.outcomes(many, won=[False, False], highest_competing_bid=9.0)
            await client.flush()
            assert (client.local, client.waiting, client.accepted) == (True, 0, 12)
            assert client.refusals == []
            assert client.version is not None
        async with AsyncClient(url, bidder="limited too") as limited:
            assert isinstance(await limited.decide(1.0, site="a", device=1), ServedBid)
            assert "limited too" in repr(limited)

    asyncio.run(play())
    eventually(lambda: learned(node) == before + 12)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"url": "127.0.0.1:8000"}, "'url' parameter of Client must be an address such as"),
        ({"url": "http://a:x"}, "'url' parameter"),
        ({"url": 3}, "'url' parameter"),
        ({"bidder": ""}, "'bidder' parameter of Client must be the name"),
        ({"token": "a\nb"}, "'token' parameter of Client must be an access token"),
        ({"key": "text"}, "'key' parameter of Client"),
        ({"poll": 0}, "'poll' parameter of Client"),
        ({"room": 0}, "'room' parameter of Client"),
        ({"batch": 10_001}, "'batch' parameter of Client"),
        ({"timeout": -1}, "'timeout' parameter of Client"),
    ],
)
def test_bad_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        Client(**{"url": AWAY, "bidder": "plain", **settings})


def test_a_bidder_that_was_created_again_gets_the_outcomes_of_its_own_decisions(
    node: Node, url: str
) -> None:
    node.create("again", SETTINGS["plain"])
    with Client(url, bidder="again", poll=0.02) as client:
        owner = Token.decode(client.decide(5.0).token, node.key).learner
        node.delete("again")
        node.create("again", SETTINGS["plain"])  # at the same version, and with the same settings

        def renewed() -> bool:
            try:
                return Token.decode(client.decide(5.0).token, node.key).learner != owner
            except RefusedError:  # it asked while there was no such bidder
                return False

        eventually(renewed)
        client.outcome(client.decide(5.0), won=True)
        client.flush()
        assert (client.accepted, client.refused) == (1, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_forked_process_sends_its_own_outcomes_and_goes_on_to_learn(node: Node, url: str) -> None:
    node.create("forked", SETTINGS["plain"])
    with Client(url, bidder="forked", poll=0.02) as client:
        client.outcome(client.decide(5.0), won=True)
        client.flush()
        process = os.fork()
        if process == 0:
            code = 1
            try:
                client.outcome(client.decide(5.0), won=True)
                client.flush(10.0)
                eventually(lambda: client.version == 2, 10.0)
                code = client.accepted - 1
            finally:  # nothing else of the tests may go on in here
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
        eventually(lambda: learned(node, "forked") == 2)
        assert client.accepted == 1


def test_both_clients_have_the_same_names() -> None:
    def names(client: type) -> set[str]:
        return {name for name in dir(client) if not name.startswith("_")}

    assert names(AsyncClient) == names(Client)
