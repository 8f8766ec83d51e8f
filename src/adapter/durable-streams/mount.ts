/** `/streams` on `skein serve`: the logs of sessions for clients of Durable Streams, with tokens. */
import type { Mount } from "../../server/http/mount.ts";
import type { PushCalls } from "../push-calls.ts";
import type { WakeDeps } from "./subscription-wake.ts";

const cors = {
  methods: ["PUT", "HEAD", "DELETE"],
  headers: [
    "If-None-Match",
    "Stream-TTL",
    "Stream-Expires-At",
    "Stream-Closed",
    "Stream-Seq",
    "Stream-Forked-From",
    "Stream-Fork-Offset",
    "Stream-Fork-Sub-Offset",
    "Producer-Id",
    "Producer-Epoch",
    "Producer-Seq",
  ],
};

/**
 * For `stream({ url: "http://…/streams/sessions/ID", headers })`, with a bearer token. `push`: how webhooks
 * of subscriptions are called; null: not at all.
 */
export function makeDurableStreamsMount(
  push: PushCalls | null,
  limits = { longPollMs: 20_000, sseMs: 60_000, eventsMax: 500 },
): Mount {
  let made: Promise<WakeDeps> | undefined;
  const deps = (): Promise<WakeDeps> => (made ??= loadDeps(push));
  return {
    prefix: "/streams",
    cors,
    async load() {
      const { makeStreamHandler } = await import("./requests.ts");
      return makeStreamHandler(limits, await deps());
    },
    async follow(engine, trouble) {
      const { followSubscriptions } = await import("./subscription-wake.ts");
      return followSubscriptions(engine, await deps(), trouble);
    },
  };
}

async function loadDeps(push: PushCalls | null): Promise<WakeDeps> {
  const [{ NamedStreams }, { Subscriptions }] = await Promise.all([
    import("./named-streams.ts"),
    import("./subscriptions.ts"),
  ]);
  const streams = new NamedStreams();
  return { streams, subscriptions: new Subscriptions(streams), push };
}

export const durableStreamsMount = makeDurableStreamsMount(null);
