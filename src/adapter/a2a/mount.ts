/** `/a2a` on `skein serve`: for A2A clients, with a bearer token; and the public card at its known place. */
import type { Mount } from "../../server/http/mount.ts";
import type { PushCalls } from "../push-calls.ts";

const cors = { headers: ["A2A-Version", "A2A-Extensions"] };

/** `push`: how URLs that clients name are called; null: they are not. */
export function makeA2aMounts(push: PushCalls | null): readonly [card: Mount, calls: Mount] {
  return [
    // The card that clients look for. It names nothing of the workspace, and needs no token.
    {
      prefix: "/.well-known/agent-card.json",
      cors,
      load: async () => (await import("./requests.ts")).makePublicCard(push !== null),
    },
    // For `new ClientFactory().createFromUrl("http://…")`.
    {
      prefix: "/a2a",
      cors,
      load: async () => (await import("./requests.ts")).makeA2aHandler(push),
      ...(push === null
        ? {}
        : { follow: async (...given) => (await import("./push.ts")).followPush(push, ...given) }),
    },
  ];
}

export const [a2aCardMount, a2aMount] = makeA2aMounts(null);
