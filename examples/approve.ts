/**
 * Rules, and a person who is asked. The agent may write notes, but every command line waits for approval, and
 * the archive is out of its reach. What waits can be answered from any process, at any time later.
 *
 *   npx node --conditions=skein-source examples/approve.ts
 */
import { mkdirSync, mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEngine, type Session } from "skein";

using folder = mkdtempDisposableSync(join(tmpdir(), "skein-"));
const notes = join(folder.path, "notes");
mkdirSync(join(notes, "archive"), { recursive: true });

await using engine = await openEngine({ store: join(folder.path, "skein.db") });
// examples/agents/keeper.md is such an agent as a file: skein agents add examples/agents/keeper.md
const { name, version } = await engine.addAgent({
  name: "keeper",
  instructions: "You keep a folder of notes. Correct what is outdated instead of adding to it.",
  model: "offline/offline",
  bind: [
    { kind: "directory", path: notes, mode: "write" },
    { kind: "shell", path: notes, name: "shell" },
  ],
  permissions: [
    { tool: "shell", rule: "ask", reason: "a person looks at every command" },
    {
      tool: "write_file",
      rule: "deny",
      pattern: { path: "archive/*" },
      reason: "the archive stays as it is",
    },
  ],
});
// The session pins this version: it keeps using it after newer versions are added.
const session = await engine.open({ objective: "Keep the notes", agent: `${name}@${version}` });

await say(session, 'call write_file {"path":"./archive/../archive/old.txt","text":"hello"}');
await say(session, "run ls -a");
await answer(session, { allow: true, reason: "it only looks" });
await say(session, "run rm -r archive");
await answer(session, { allow: false, reason: "nothing is removed here" });

// Some calls without asking: a rule of the session goes before the agent's. A deny of either always wins.
await session.grant({ tool: "shell", rule: "allow", pattern: { command: "ls*" } });
await say(session, "run ls -a");

async function say(to: Session, text: string): Promise<void> {
  console.log(`> ${text}`);
  const { seq } = await to.head();
  for await (const _ of to.ask(text));
  await show(to, seq + 1);
}

async function answer(to: Session, options: { allow: boolean; reason: string }): Promise<void> {
  console.log(`> ${options.allow ? "allowed" : "denied"}: ${options.reason}`);
  const { seq } = await to.answer(options);
  await to.run();
  await show(to, seq);
}

async function show(shown: Session, fromSeq: number): Promise<void> {
  for await (const { seq, type, content } of shown.events({ fromSeq })) {
    if (/^(tool\.(started|denied|settled)|session\.(suspended|activated))$/.test(type))
      console.log(`  ${seq} ${type} ${JSON.stringify(content ?? "")}`);
  }
}
