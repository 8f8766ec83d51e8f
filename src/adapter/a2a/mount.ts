/** `/a2a` on `skein serve`: for A2A clients, with a bearer token; and the public card at its known place. */
import type { Mount } from "../../server/http/mount.ts";

const cors = { headers: ["A2A-Version", "A2A-Extensions"] };

/** For `new ClientFactory().createFromUrl("http://…")`. */
export const a2aMount: Mount = {
  prefix: "/a2a",
  cors,
  load: async () => (await import("./requests.ts")).answerA2a,
};

/** The card that clients look for. It names nothing of the workspace, and needs no token. */
export const a2aCardMount: Mount = {
  prefix: "/.well-known/agent-card.json",
  cors,
  load: async () => (await import("./requests.ts")).answerPublicCard,
};
