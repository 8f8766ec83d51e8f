/**
 * A chat that survives reloads, crashes and closed tabs: all of the server. In a Next.js application this
 * file is `lib/chat.ts`; `app/api/chat/route.ts` exports its POST, and `app/api/chat/[id]/route.ts` and
 * `app/api/chat/[id]/stream/route.ts` its GET and DELETE. `page.ts` is the page.
 */
import { openEngine } from "skein";
import { chatRoutes } from "skein/ai-sdk";

export const { POST, GET, DELETE } = chatRoutes({
  engine: () => openEngine({ store: process.env["CHAT_STORE"] ?? "./chat.db" }),
  open: () => ({ objective: "Help the user.", model: process.env["CHAT_MODEL"] ?? "offline/offline" }),
  // Anyone who has the id of a chat can continue it: check the login of your application here.
  authorize: (_, id) => (id.length < 16 ? new Response("no such chat", { status: 404 }) : undefined),
});
