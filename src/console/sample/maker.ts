/**
 * Creates and removes the sample family. Each session is marked while it is created: after an interruption,
 * as by a reload, complete ones are kept, and the others are created again.
 */
import { SkeinError, type RemoteEngine, type RemoteSession } from "../../client/connect.ts";
import { after } from "../world.ts";
import {
  makingLabel,
  partLabel,
  sampleAgent,
  sampleCenter,
  sampleLabel,
  samplePlan,
  sampleTemplate,
  type SamplePart,
  type SampleStep,
} from "./plan.ts";

/** Progress: how many of how many, and the current step. */
export interface SampleProgress {
  readonly done: number;
  readonly of: number;
  readonly says: string;
}

export type TellProgress = (progress: SampleProgress) => void;

type Row = Awaited<ReturnType<RemoteEngine["sessions"]>>["rows"][number];

export interface SampleStanding {
  readonly sessions: number;
  /** The creation was interrupted. */
  readonly isUnfinished: boolean;
}

const pageRows = 500;
const againMs = 100;

const wait = (ms: number): Promise<void> => new Promise((resolve) => void after(ms, resolve));

export async function sampleStanding(engine: RemoteEngine): Promise<SampleStanding> {
  const { rows } = await engine.sessions({ labels: sampleLabel, limit: pageRows });
  return { sessions: rows.length, isUnfinished: rows.some(({ labels }) => makingLabel in labels) };
}

/** Creates the missing parts of the plan, and returns the session to show first. */
export async function makeSampleFamily(engine: RemoteEngine, tell: TellProgress): Promise<RemoteSession> {
  const { rows } = await engine.sessions({ labels: sampleLabel, limit: pageRows });
  await engine.addAgent(sampleAgent);
  const made = new Map<string, RemoteSession>();
  for (const [done, part] of samplePlan.entries()) {
    tell({ done, of: samplePlan.length, says: part.says });
    const before = rows.filter(({ labels }) => labels[partLabel] === part.part);
    made.set(part.part, (await wholeOf(engine, before)) ?? (await makePart(engine, part, made)));
  }
  const [first] = samplePlan;
  await made.get(first?.part ?? "")?.label({}, { remove: [makingLabel] });
  return partOf(made, sampleCenter);
}

/** The complete one of a part; incomplete ones are deleted. */
async function wholeOf(engine: RemoteEngine, rows: readonly Row[]): Promise<RemoteSession | undefined> {
  const whole = rows.find(({ labels }) => labels[makingLabel] !== "begun");
  for (const row of rows) if (row !== whole) await takeAway(engine, row);
  return whole === undefined ? undefined : engine.session(whole.session);
}

async function makePart(
  engine: RemoteEngine,
  part: SamplePart,
  made: ReadonlyMap<string, RemoteSession>,
): Promise<RemoteSession> {
  const session = await begin(engine, part, made);
  for (const step of part.steps) await takeStep(session, step, made);
  if ("template" in part.begins) return session;
  // The mark of the first says that more follow.
  if (part === samplePlan[0]) await session.label({ [makingLabel]: "more" });
  else await session.label({}, { remove: [makingLabel] });
  return session;
}

async function begin(
  engine: RemoteEngine,
  { part, begins }: SamplePart,
  made: ReadonlyMap<string, RemoteSession>,
): Promise<RemoteSession> {
  const labels = { ...sampleLabel, [partLabel]: part, [makingLabel]: "begun" };
  if ("template" in begins) {
    const { name, spec, open } = sampleTemplate;
    await engine.trigger(name, spec, { open });
    const opened = await engine.fire(name);
    await atRest(opened);
    return opened;
  }
  if ("fork" in begins) {
    const { fork, at, ...rest } = begins;
    const { seq } = await partOf(made, fork).load(at);
    return partOf(made, fork).fork({ ...rest, labels, atSeq: seq });
  }
  const { open, carriesOn } = begins;
  const from = carriesOn === undefined ? {} : { from: partOf(made, carriesOn).id };
  return engine.open({ ...open, ...from, labels });
}

function partOf(made: ReadonlyMap<string, RemoteSession>, part: string): RemoteSession {
  const session = made.get(part);
  if (session === undefined) throw new Error(`sample plan: ${part} is used before it is created`);
  return session;
}

async function takeStep(
  session: RemoteSession,
  step: SampleStep,
  made: ReadonlyMap<string, RemoteSession>,
): Promise<unknown> {
  switch (step.do) {
    case "ask":
      await session.input(step.text);
      return atRest(session);
    case "save":
      return session.save(step.name);
    case "rewind":
      return session.rewind(step.to, { reason: step.reason });
    case "merge":
      return partOf(made, step.into).merge({ from: session.id });
    case "promote":
      // Only sessions of the sample agent carry it: real ones must not learn of a made-up provider.
      return session.promote(step.kind, step.key, { scope: "agent", because: step.because });
    case "score":
      return session.score(step.name, step.value, { because: step.because });
    case "compress":
      return session.compress({ strategy: "summarize" });
    case "handoff":
      return session.handoff();
    case "sleep":
      return session.sleep({ reason: step.reason });
    case "close":
      return session.close({ reason: step.reason });
  }
}

/** Until it is idle or suspended, whichever process runs it: a worker may have been faster. */
async function atRest(session: RemoteSession): Promise<void> {
  for (;;) {
    try {
      await session.run();
      return;
    } catch (error) {
      if (!(error instanceof SkeinError) || !["conflict", "fenced"].includes(error.code)) throw error;
      await wait(againMs);
    }
  }
}

/**
 * Removes all of it: first what would create or reference more, so that an interrupted removal can resume.
 * Agent versions stay, as for every agent.
 */
export async function removeSampleFamily(engine: RemoteEngine, tell: TellProgress): Promise<number> {
  const templates = (await engine.triggers()).filter(({ name }) => name === sampleTemplate.name);
  for (const { name } of templates) await engine.untrigger(name);
  let removed = 0;
  for (;;) {
    const { rows } = await engine.sessions({ labels: sampleLabel, limit: pageRows });
    if (rows.length === 0) return removed;
    await forgetFrom(engine, new Set(rows.map(({ session }) => session)));
    for (const row of rows) {
      tell({ done: removed, of: removed + rows.length, says: "Removing the samples" });
      await takeAway(engine, row);
      removed++;
    }
  }
}

async function forgetFrom(engine: RemoteEngine, sessions: ReadonlySet<string>): Promise<void> {
  for (const { scope, owner, kind, key, origin } of await engine.memory())
    if (origin !== null && sessions.has(origin.session))
      await engine.forget({ scope, kind, key, ...(owner === null ? {} : { owner }) });
}

const triesMax = 50;

/** Interrupts a running one first. */
async function takeAway(engine: RemoteEngine, { session, status }: Row): Promise<void> {
  const handle = await engine.session(session).catch(ifGone);
  if (handle === null) return;
  for (let tries = 0; ; tries++) {
    try {
      if (status === "running" || tries > 0) await handle.interrupt().catch(() => undefined);
      await engine.delete(session, { reason: "Sample removed" });
      return;
    } catch (error) {
      const { code } = error as Partial<SkeinError>;
      if (code === "not-found") return;
      if (tries >= triesMax || (code !== "refused" && code !== "conflict")) throw error;
      await wait(againMs);
    }
  }
}

/** Null for a session that was deleted meanwhile. */
function ifGone(error: unknown): null {
  if (error instanceof SkeinError && error.code === "not-found") return null;
  throw error;
}
