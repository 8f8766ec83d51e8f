/** `/streams` on `skein serve`: the logs of sessions for clients of Durable Streams, with tokens. */
import type { Mount } from "../../server/http/mount.ts";

/** For `stream({ url: "http://…/streams/sessions/ID", headers })`, with a bearer token. */
export const durableStreamsMount: Mount = {
  prefix: "/streams",
  cors: {
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
  },
  async load() {
    const { makeStreamHandler } = await import("./requests.ts");
    return makeStreamHandler({ longPollMs: 20_000, sseMs: 60_000, eventsMax: 500 });
  },
};
