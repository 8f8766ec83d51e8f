"""A session from Python: see README.md."""

import os

from skein import Client, SkeinError


def main() -> None:
    url = os.environ.get("SKEIN_URL", "http://127.0.0.1:7717")
    token = os.environ.get("SKEIN_TOKEN") or open("skein.db.token").read().strip()
    with Client(url, token) as client:
        session = client.open(objective="Track interest rates", model="offline/offline")
        run = session.ask("remember base-rate is 4.1")
        for update in run:
            if update["type"] == "delta":
                print(update["delta"].get("text", ""), end="", flush=True)
        print("\nended:", run.result)

        # The same key, from any process: recorded once.
        for _ in range(2):
            done = session.record("fact", "currency", "EUR", idempotency_key="currency-1")
            print("duplicate:", done["duplicate"])

        branch = session.fork(objective="What if it were 5?")
        branch.record("fact", "base-rate", 5)
        for name, one in (("session", session), ("branch", branch)):
            print(name, {item["key"]: item["value"] for item in one.items()})

        try:
            session.rewind(1_000)
        except SkeinError as error:
            print("refused:", error.code, error.status)


if __name__ == "__main__":
    main()
