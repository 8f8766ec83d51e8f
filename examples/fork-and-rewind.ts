/**
 * Fork, rewind and redo. A fork is another session; a rewind is the same one with an earlier mind; and since
 * the log keeps what was rewound away, there is a way forward again.
 *
 *   npx node --conditions=skein-source examples/fork-and-rewind.ts
 */
import { openEngine, type Session } from "skein";

await using engine = await openEngine({ store: "memory:" });
const session = await engine.open({ objective: "Choose a database" });
await session.append("We expect 200 writes a second.");
await session.save("asked"); // a checkpoint: position 2 has a name now
await session.record("decision", "database", "PostgreSQL", { because: "we know it" });
await session.scratch("benchmark", { writesPerSecond: 4_000 });
await show("after deciding", session);

// Both branches start from the checkpoint, and neither knows of the decision that came after it.
const asked = await session.load("asked");
const sqlite = await asked.fork({ objective: "Choose a database: try SQLite", labels: { branch: "sqlite" } });
const files = await asked.fork({ objective: "Choose a database: try plain files" });
await sqlite.record("decision", "database", "SQLite", { because: "one file, no server" });
await show("the fork", sqlite);
await show("the other fork", files);

// The session itself goes back. What it decided is out of its mind: items and scratch are as at position 2.
const { seq: decided } = await session.head();
await session.rewind("asked", { reason: "not measured" });
await show("after the rewind", session);

// Redo: the target may lie in a stretch that was itself rewound away.
await session.rewind(decided, { reason: "it was measured" });
await show("after the redo", session);

const types: string[] = [];
for await (const event of session.events()) types.push(event.type);
console.log(`the log of the session has it all: ${types.join(", ")}`);

async function show(when: string, shown: Session): Promise<void> {
  const { items, scratch, seq } = await shown.state();
  const known = items.map(({ key, value }) => `${key} = ${String(value)}`).join(", ") || "nothing decided";
  console.log(`${when} (at ${seq}): ${known}; scratch: ${Object.keys(scratch).join(", ") || "empty"}`);
}
