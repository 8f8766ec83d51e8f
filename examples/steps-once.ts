/**
 * A job without any model that keeps its log in Skein, in its own records, and survives being killed. Each
 * step writes what it is about to do, does it, and writes what came of it; idempotency keys keep it from
 * writing either twice. For turns with a model and tools, see own-loop.ts.
 *
 *   npx node --conditions=skein-source examples/steps-once.ts
 */
import { spawnSync } from "node:child_process";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEngine, type Session } from "skein";

const steps = ["read the rates", "compute the run", "write the report"];
const [store, killIn] = process.argv.slice(2);
if (store === undefined) {
  using folder = mkdtempDisposableSync(join(tmpdir(), "skein-"));
  for (const more of [["compute the run"], []]) {
    const args = [...process.execArgv, import.meta.filename, join(folder.path, "skein.db"), ...more];
    const { signal, status } = spawnSync(process.execPath, args, { stdio: "inherit" });
    console.log(signal === null ? `ended with ${status}` : `killed by ${signal}`);
    if (more.length === 0) process.exitCode = status ?? 1;
  }
} else {
  await using engine = await openEngine({ store, actor: "agent:payroll@1" });
  // The session is found again by its label. This program may be started again and again.
  const { rows } = await engine.sessions({ labels: { run: "november" }, limit: 1 });
  const session = rows[0]
    ? await engine.session(rows[0].session)
    : await engine.open({ objective: "November payroll run", labels: { run: "november" } });
  const done = await endedSteps(session);
  for (const step of steps) await once(session, step, done);
  console.log(`${steps.length} steps in ${(await session.head()).seq} records`);
}

async function once(session: Session, step: string, done: ReadonlySet<string>): Promise<void> {
  if (done.has(step)) return console.log(`${step}: done before`);
  const intent = await session.append({ type: "x.step.started", body: { step } }, { key: `${step} started` });
  // A real effect goes here. If it must not happen twice, this is the place to look whether it did.
  if (intent.duplicate) console.log(`${step}: started before and cut short; again`);
  if (step === killIn) process.kill(process.pid, "SIGKILL");
  const answer = step.toUpperCase();
  await session.record("fact", step, answer, { key: `${step} fact` });
  // Last, because a step that has this record is never looked at again.
  await session.append({ type: "x.step.ended", body: { step } }, { key: `${step} ended` });
  console.log(`${step}: done`);
}

async function endedSteps(session: Session): Promise<Set<string>> {
  const found = new Set<string>();
  for await (const { body } of session.events({ types: ["x.step.ended"] }))
    found.add((body as { step: string }).step);
  return found;
}
