/** `/ai-sdk` on `skein serve`: the routes of `useChat`, with tokens. */
import type { Mount } from "../../server/http/mount.ts";

/** For `new DefaultChatTransport({ api: "http://…/ai-sdk/chat", headers })`, with a bearer token. */
export const aiSdkMount: Mount = {
  prefix: "/ai-sdk",
  cors: { methods: ["DELETE"] },
  load: async () => (await import("./mount-requests.ts")).answerChat,
};
