/**
 * Two processes on one file: this one follows a session while a child process appends to it. Nothing is
 * missed and nothing comes twice; the position of the last event seen is all that a follower has to remember.
 *
 *   npx node --conditions=skein-source examples/two-processes.ts
 */
import { fork } from "node:child_process";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEngine } from "skein";

const [store, id] = process.argv.slice(2);
if (store === undefined || id === undefined) await follow();
else await append(store, id);

async function follow(): Promise<void> {
  using folder = mkdtempDisposableSync(join(tmpdir(), "skein-"));
  const path = join(folder.path, "skein.db");
  await using engine = await openEngine({ store: path });
  const session = await engine.open({ objective: "Count to five, elsewhere" });
  const child = fork(import.meta.filename, [path, session.id]);
  const ended = new Promise<number | null>((resolve) => void child.once("exit", resolve));

  let lastSeq = 1;
  for await (const event of session.events({ fromSeq: lastSeq + 1, follow: true })) {
    lastSeq = event.seq;
    console.log(`${process.pid} sees ${event.seq} ${event.type}`);
    if (event.type === "session.closed") break;
  }
  console.log(`the child ended with ${await ended}; the session has ${lastSeq} records`);
}

async function append(path: string, session: string): Promise<void> {
  await using engine = await openEngine({ store: path, create: false });
  const counting = await engine.session(session);
  for (let count = 1; count <= 5; count++) {
    const { seq } = await counting.append(`${count}`);
    console.log(`${process.pid} appended ${seq}`);
  }
  await counting.close();
}
