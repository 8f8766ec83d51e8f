/**
 * Transcripts of the Claude Agent SDK in Skein. The SDK calls the store like this when it is passed as
 * `query({ prompt, options: { sessionStore } })`:
 *
 *     node examples/claude-session-store.ts
 */
import { openEngine } from "skein";
import { SkeinSessionStore } from "skein/claude-agent-sdk";

await using engine = await openEngine({ store: "memory:" });
const sessionStore = new SkeinSessionStore(engine);

const key = { projectKey: "-home-ann-shop", sessionId: "6f2c1c52-3c42-4c8e-9f63-0f4b5d1f7a11" };
const question = { type: "user", uuid: "u1", message: { role: "user", content: "Fix the build" } };
const answer = { type: "assistant", uuid: "u2", message: { role: "assistant", content: "Done." } };
await sessionStore.append(key, [question]);
await sessionStore.append(key, [question, answer]); // sent again after a lost answer: kept once
await sessionStore.append({ ...key, subpath: "subagents/agent-1" }, [{ type: "user", uuid: "s1" }]);

console.log((await sessionStore.load(key))?.map(({ type }) => type)); // [ 'user', 'assistant' ]
console.log(await sessionStore.listSubkeys(key)); // [ 'subagents/agent-1' ]
console.log((await sessionStore.listSessions(key.projectKey)).map(({ sessionId }) => sessionId));
