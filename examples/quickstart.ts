/**
 * The ten lines of the README and a bit: open a session, write to it, branch off, go back, and prove that
 * nothing was changed.
 *
 *   npx node --conditions=skein-source examples/quickstart.ts
 */
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEngine } from "skein";

using folder = mkdtempDisposableSync(join(tmpdir(), "skein-"));
await using engine = await openEngine({ store: join(folder.path, "skein.db") });

const session = await engine.open({ objective: "Fix the login" });
await session.append("Users are logged out after five minutes.");
await session.record("decision", "timeout", "30 min", { because: "people read long pages" });

// The fork shares positions 1 to 3 with its parent and continues separately from there.
const branch = await session.fork({ objective: "What if we used refresh tokens?" });
await branch.record("decision", "timeout", "none; refresh tokens instead");

// The rewind takes the decision out of the session's mind. In the log it stays.
await session.rewind(2, { reason: "ask the users first" });

for (const handle of [session, branch]) {
  const { objective, items } = await handle.state();
  console.log(
    `${objective}: ${items.map(({ key, value }) => `${key} = ${String(value)}`).join() || "nothing decided"}`,
  );
  for await (const { seq, type } of handle.events()) console.log(`  ${seq} ${type}`);
}

const [hit] = await engine.search("long pages");
console.log(`found at ${hit?.seq}, ${hit?.mind}: ${hit?.snippet}`);

const report = await engine.verify();
console.log(
  `verified ${report.records} records of ${report.sessions} sessions: ${report.ok ? "ok" : "damaged"}`,
);
