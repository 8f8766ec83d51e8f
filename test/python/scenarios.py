"""Scenarios of the Python client, each a process: scenarios.py NAME URL TOKEN [MORE]. Prints JSON."""

import asyncio
import io
import json
import ssl
import sys
import threading
import time

from skein import AsyncClient, Client, Session, SkeinError

HOSTILE = "Zürich \u4f60\u597d \U0001f9f6 \u202e \"quotes\" \\ \r\n\t </script> ${x} \u2028"


def text_of(deltas):
    return "".join(one["delta"]["text"] for one in deltas if one["delta"]["type"] == "text")


def error_of(call):
    try:
        call()
    except SkeinError as error:
        return [error.code, error.status, error.field, error.hint is not None]
    return None


def ask(client):
    session = client.open(objective=HOSTILE, model="scripted/one", labels={"team": "web"})
    stream = session.ask(HOSTILE)
    updates = list(stream)
    deltas = [one for one in updates if one["type"] == "delta"]
    events = [one for one in updates if one["type"] != "delta"]
    session.record("fact", "base-rate", {"value": 4.1, "none": None})
    session.scratch("draft", None)
    return {
        "session": session.id,
        "deltas": text_of(deltas),
        "seqs": [one["seq"] for one in events],
        "types": [one["type"] for one in events],
        "result": stream.result,
        "again": session.ask("Once more").wait()["status"],
        "items": [[one["key"], one["value"]] for one in session.items()],
        "input": next(session.iter_events(types=["input.received"]))["content"]["blocks"][0]["text"],
        "found": client.sessions(labels={"team": "web"}, text="\u4f60")["rows"][0]["objective"] == HOSTILE,
        "suffix": client.session(session.id[-8:]).id,
        "me": client.me()["scopes"],
        "fork": session.fork(objective="What if").id != session.id,
    }


def errors(client):
    session = client.open(objective="Errors", model="scripted/one")
    cyclic = {"set": {1, 2}}
    return {
        "field": error_of(lambda: client.open(objective="x", budget={"tokens": 0.5})),
        "missing": error_of(lambda: client.session("ses_" + "0" * 26)),
        "nul": error_of(lambda: session.input("a\0b")),
        "surrogate": error_of(lambda: session.input("a\ud800b")),
        "set": error_of(lambda: session.record("fact", "a", cyclic)),
        "nan": error_of(lambda: session.record("fact", "a", float("nan"))),
        "large": error_of(lambda: session.record("fact", "a", 2**53)),
        "keys": error_of(lambda: session.record("fact", "a", {1: 2})),
        "match": error_of(lambda: session.rename("other", if_match=10_000)),
        "token": error_of(lambda: Client(client._wire.url, "skn_wrong").me()),
        "header": error_of(lambda: Client(client._wire.url, "two\nlines")),
        "url": error_of(lambda: Client("ftp://localhost")),
        "source": error_of(lambda: client.put_blob("text")),
        "repr": repr(client),
        "log": [one["type"] for one in session.iter_events()],
    }


def pages(client):
    opened = [client.open(objective=f"Page {n}", model="scripted/one").id for n in range(12)]
    session = client.session(opened[0])
    session.append([{"type": "x.one", "body": {"n": n}} for n in range(700)])
    session.append([{"type": "x.two", "body": {"n": n}} for n in range(700)])
    forward = [one["seq"] for one in session.iter_events()]
    backward = [one["seq"] for one in session.iter_events(reverse=True)]
    some = [one["body"]["n"] for one in session.iter_events(types=["x.two"])]
    in_feed = [one for page in client.iter_feed_pages() for one in page["events"]]
    fed = [one["seq"] for one in in_feed if one["session"] == session.id]
    return {
        "sessions": sorted(one["session"] for one in client.iter_sessions(limit=5)) == sorted(opened),
        "forward": forward == list(range(1, len(forward) + 1)) and len(forward) > 1_400,
        "backward": backward == forward[::-1],
        "some": some == list(range(700)),
        "feed": fed == forward,
        "records": [one["seq"] for one in session.iter_records()] == forward,
    }


def settle(client):
    schema = {"type": "object", "properties": {"article": {"type": "string"}}}
    options = {"external": True, "description": "Orders an article.", "input": schema}
    session = client.open(
        objective="Shop", model="scripted/one", bind=[{"kind": "tool", "name": "order", "options": options}]
    )
    by = session.ask("Order a pen.").wait()["by"]
    call = session.state()["calls"][0]["call"]
    first = session.settle(call, output={"sent": HOSTILE}, idempotency_key="settled \u2713")
    again = session.settle(call, output={"sent": HOSTILE}, idempotency_key="settled \u2713")
    other = error_of(lambda: session.settle(call, output="other"))
    return {
        "by": by,
        "seq": first["seq"] == again["seq"],
        "duplicate": [first["duplicate"], again["duplicate"]],
        "other": other,
        "after": session.run()["status"],
    }


def blobs(client):
    size = 24 * 2**20
    data = bytes(range(256)) * (size // 256)
    in_memory = client.put_blob(data)["hash"]
    from_file = client.put_blob(io.BytesIO(data))["hash"]
    in_pieces = client.put_blob(data[at : at + 100_000] for at in range(0, size, 100_000))["hash"]
    largest, total = 0, 0
    with client.blob(in_memory) as stream:
        for piece in stream:
            largest, total = max(largest, len(piece)), total + len(piece)
    bundle = client.export(client.open(objective="Export", model="scripted/one").id).read()
    return {
        "same": in_memory == from_file == in_pieces,
        "total": total == size,
        "streamed": largest <= 65_536,
        "read": client.blob(in_memory).read() == data,
        "bundle": len(bundle) > 100,
        "missing": error_of(lambda: client.blob("0" * 64).read()),
        "empty": client.blob(client.put_blob(b"")["hash"]).read() == b"",
    }


def dropped(client):
    """Every first response is dropped: nothing may be written twice."""
    session = client.open(objective="Once", model="scripted/one")
    for n in range(5):
        session.record("fact", f"n{n}", n)
    result = session.ask("Answer once.").wait()
    types = [one["type"] for one in session.iter_events()]
    return {
        "sessions": len(client.sessions()["rows"]),
        "items": types.count("item.recorded"),
        "inputs": types.count("input.received"),
        "by": result["status"],
        "kept": client.put_blob(io.BytesIO(b"kept"))["hash"],
    }


def limited(client):
    began = time.monotonic()
    actor = client.me()["actor"]
    return {"actor": actor != "", "waited": time.monotonic() - began >= 1.0}


def silent(client):
    read = error_of(lambda: client.sessions(timeout=0.3))
    return {"read": read, "change": error_of(lambda: client.open(objective="x", timeout=0.3))}


def restart(client):
    """Writes and follows while the server is killed and started again."""
    count = 30
    session = client.open(objective="Restart", model="offline/offline")
    print(json.dumps({"session": session.id}), flush=True)
    seen, fed = [], []

    def follow():
        with session.follow() as stream:
            for update in stream:
                if update["type"] == "delta":
                    continue
                seen.append(update["seq"])
                if update["type"] == "session.closed":
                    return

    def feed():
        with client.follow(after="") as stream:
            for update in stream:
                event = update.get("event")
                if event is None or event["session"] != session.id:
                    continue
                fed.append(event["seq"])
                if event["type"] == "session.closed":
                    return

    threads = [threading.Thread(target=follow), threading.Thread(target=feed)]
    for thread in threads:
        thread.start()
    for n in range(count):
        session.record("fact", f"n{n}", n)
        if n in (5, 20):
            print(json.dumps({"written": n}), flush=True)
        time.sleep(0.02)
    session.close()
    for thread in threads:
        thread.join(30)
    head = session.head()["seq"]
    items = [one["key"] for one in session.items()]
    return {
        "seen": seen == list(range(1, head + 1)),
        "fed": fed == list(range(1, head + 1)),
        "head": head,
        "items": sorted(items) == sorted(f"n{n}" for n in range(count)),
        "events": [one["type"] for one in session.iter_events()].count("item.recorded"),
    }


def half(client):
    """The connection is cut inside an answer: its later deltas are left out, its message arrives."""
    session = client.open(objective="Half", model="scripted/one")
    stream = session.ask("Count.")
    updates = list(stream)
    events = [one for one in updates if one["type"] != "delta"]
    return {
        "deltas": text_of([one for one in updates if one["type"] == "delta"]),
        "seqs": [one["seq"] for one in events],
        "answer": [one["content"]["blocks"][0]["text"] for one in events if one["type"] == "model.responded"],
        "status": stream.result["status"],
    }


async def in_async(url, token):
    async def pieces():
        for n in range(10):
            await asyncio.sleep(0)
            yield bytes([n]) * 1000

    async with AsyncClient(url, token, threads=4) as client:
        session = await client.open(objective="Async", model="scripted/one")
        run = session.ask("Hello")
        updates = [one async for one in run]
        await asyncio.gather(*(session.record("fact", f"n{n}", n) for n in range(20)))
        head = (await session.head())["seq"]
        following, seqs, canceled = session.follow(), [], 0
        # Canceled reads lose nothing.
        while len(seqs) < head + 1:
            try:
                one = await asyncio.wait_for(following.__anext__(), 0.05)
            except asyncio.TimeoutError:
                canceled += 1
                if canceled == 2:
                    await session.record("fact", "late", 1)
                continue
            if one["type"] != "delta":
                seqs.append(one["seq"])
        await following.aclose()
        over = [one async for one in following]
        try:
            await client.open(objective="x", budget={"tokens": 0.5})
            field = None
        except SkeinError as error:
            field = error.field
        blob = (await client.put_blob(pieces()))["hash"]
        return {
            "deltas": text_of([one for one in updates if one["type"] == "delta"]),
            "status": run.result["status"],
            "items": len(await session.items()),
            "seqs": seqs == list(range(1, head + 2)),
            "canceled": canceled >= 2,
            "over": over,
            "field": field,
            "blob": len(await client.blob(blob).read()),
            "events": [one["seq"] async for one in session.iter_events()] == seqs,
            "sessions": [one["session"] async for one in client.iter_sessions()] == [session.id],
            "fork": (await session.fork()).id != session.id,
            "watch": (await session.watch().wait())["status"],
        }


def https(client):
    """The token is the path of the server's certificate."""
    path = client._wire._token
    with Client(client._wire.url, "skn_1", ssl_context=ssl.create_default_context(cafile=path)) as trusting:
        actor = trusting.me()["actor"]
        events = [one["seq"] for one in Session(trusting._wire, "ses_1").follow()]
    return {"actor": actor, "events": events, "untrusted": error_of(client.me)}


def close(client):
    """A stream ends when another thread closes it, or the client."""
    session = client.open(objective="Close", model="scripted/one")
    ended = []
    for close_all in (False, True):
        stream = session.follow()
        next(stream)

        def read():
            try:
                for _ in stream:
                    pass
                ended.append("end")
            except SkeinError as error:
                ended.append(error.message)

        thread = threading.Thread(target=read)
        thread.start()
        time.sleep(0.1)
        (client if close_all else stream).close()
        thread.join(5)
        ended.append(thread.is_alive())
    return {"ended": ended, "after": error_of(client.me)}


if __name__ == "__main__":
    _, name, url, token = sys.argv
    if name == "in_async":
        print(json.dumps(asyncio.run(in_async(url, token))))
    else:
        with Client(url, token) as given:
            print(json.dumps(globals()[name](given)))
