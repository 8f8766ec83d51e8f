/**
 * What a model is shown, against labelled scenarios (`bench/context-cases`): recall is the share of the
 * values that must be shown and are; precision is the share of shown values that had to be. Values that may
 * be shown count for neither. The scripted model calls no tool, and its summaries hold no value.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openEngine, type Engine, type Session } from "../src/index.ts";
import type { ContextPart, Model, Models } from "../src/entry/model.ts";
import { compactionPromptLine } from "../src/core/compaction/plan.ts";
import { pagesOf, readCases, type CaseSession, type CaseStep, type ContextCase } from "./context-case.ts";
import { makeDirectory, type Measure } from "./measure.ts";

/** What became of a scenario. */
interface CaseResult {
  readonly missing: readonly string[];
  readonly unwanted: readonly string[];
  /** Steps that the engine refuses or has no call for. */
  readonly refused: readonly string[];
  readonly tokens: number;
}

export async function benchContext(): Promise<Measure[]> {
  const results = new Map<ContextCase, CaseResult>();
  for (const scenario of readCases()) {
    const result = await runCase(scenario);
    results.set(scenario, result);
    if (process.argv.includes("--misses")) printMisses(scenario, result);
  }
  const tags = [...new Set([...results.keys()].flatMap((scenario) => scenario.tags))].toSorted();
  const all = [...results];
  return [
    ...measuresOf("all scenarios", all, true),
    ...tags.flatMap((tag) =>
      measuresOf(
        tag,
        all.filter(([scenario]) => scenario.tags.includes(tag)),
        tag === "memory",
      ),
    ),
  ];
}

function measuresOf(
  name: string,
  results: readonly (readonly [ContextCase, CaseResult])[],
  isJudged: boolean,
): Measure[] {
  const sum = (of: (scenario: ContextCase, result: CaseResult) => number): number =>
    results.reduce((total, [scenario, result]) => total + of(scenario, result), 0);
  const wanted = sum(({ mustShow }) => mustShow.length);
  const shown = wanted - sum((_, { missing }) => missing.length);
  const unwanted = sum((_, result) => result.unwanted.length);
  const right = results.filter(([, result]) => result.missing.length + result.unwanted.length === 0).length;
  // Each scenario counts alike, however many values it names.
  const asked = results.filter(([{ mustShow }]) => mustShow.length > 0).length;
  const mean = asked === 0 ? 1 : sum(recallOf) / asked;
  const precision = shown + unwanted === 0 ? 1 : shown / (shown + unwanted);
  const refused = sum((_, result) => result.refused.length);
  const detail =
    `${shown} of ${wanted} values, ${right} of ${results.length} scenarios right` +
    (refused > 0 ? `; ${refused} steps refused` : "");
  const bar = (least: number): Measure["bar"] => (isJudged ? { least } : null);
  return [
    { name: `${name}: recall, mean of scenarios`, value: mean, unit: "", bar: bar(0.9), detail },
    { name: "… precision", value: precision, unit: "", bar: bar(0.7), detail: `${unwanted} unwanted` },
  ];
}

const recallOf = ({ mustShow }: ContextCase, { missing }: CaseResult): number =>
  mustShow.length === 0 ? 0 : 1 - missing.length / mustShow.length;

function printMisses({ name }: ContextCase, { missing, unwanted, refused, tokens }: CaseResult): void {
  const some = (label: string, values: readonly string[]): string[] =>
    values.length === 0
      ? []
      : [`  ${label} (${values.length}): ${values.slice(0, 3).join(" | ").slice(0, 300)}`];
  const lines = [...some("missing", missing), ...some("unwanted", unwanted), ...some("refused", refused)];
  console.error([`${lines.length === 0 ? "ok" : "NO"} ${name} (${tokens} tokens)`, ...lines].join("\n"));
}

/** Runs a scenario in a store of its own, and compares the context of its last request. */
async function runCase(scenario: ContextCase): Promise<CaseResult> {
  using directory = makeDirectory();
  const script = makeScript();
  const { models } = script;
  await using engine = await openEngine({ store: "memory:", models, env: {}, secrets: { looksLike: false } });
  const refused: string[] = [];
  let last: Session | null = null;
  for (const [place, session] of scenario.sessions.entries()) {
    const open = (files: readonly string[]): Promise<Session> =>
      openSession(engine, scenario, withObjective(scenario, session), files);
    const files = filesOf(session, directory.path(String(place)));
    last = await open(files).catch((error: unknown) => {
      if (files.length === 0) throw error;
      refused.push(`load: ${(error as Error).message}`);
      return open([]);
    });
    const turns: number[] = [];
    for (const [at, step] of session.steps.entries()) {
      if (step.say !== undefined) turns.push((await last.state()).seq);
      const work: Promise<Session | void> =
        step.rewind !== undefined || step.fork !== undefined
          ? goBack(last, step, turns)
          : takeStep(engine, last, step, answerAfter(session.steps, at), { session, script });
      const next = await work.catch((error: unknown) => {
        refused.push(`${Object.keys(step)[0]}: ${(error as Error).message}`);
      });
      last = next ?? last;
    }
  }
  if (last === null) throw new Error(`${scenario.name}: there is no session`);
  script.answer = "Understood.";
  await takeTurn(last, scenario.ask);
  const text = textOf(script.parts);
  return {
    missing: scenario.mustShow.filter((value) => !text.includes(value)),
    unwanted: scenario.mustNotShow.filter((value) => text.includes(value)),
    refused,
    tokens: (await last.context()).tokens,
  };
}

/** Every text of a context, as the model reads it. */
function textOf(parts: readonly ContextPart[]): string {
  return parts
    .flatMap((part) => {
      if (part.part === "system") return [part.text];
      if (part.part !== "message") return [];
      return part.content.flatMap((block) => ("text" in block ? [block.text] : []));
    })
    .join("\n");
}

const agentOf = ({ agent = "keeper" }: CaseSession): string => agent;

/** A session that begins with the last input is opened for it. */
const withObjective = ({ sessions, ask }: ContextCase, session: CaseSession): CaseSession =>
  session === sessions.at(-1) && session.steps.length === 0 ? { objective: ask, ...session } : session;

async function openSession(
  engine: Engine,
  scenario: ContextCase,
  session: CaseSession,
  files: readonly string[],
): Promise<Session> {
  const agent = { name: agentOf(session), instructions: "Help with the work, and keep what was agreed." };
  const { shares } = scenario;
  // An engine without shares refuses the field; the scenario then runs without it.
  const withShares = { ...agent, context: { shares } } as typeof agent;
  if (shares === undefined) await engine.addAgent(agent);
  else await engine.addAgent(withShares).catch(() => engine.addAgent(agent));
  return engine.open({
    objective: session.objective ?? "Work through what comes in",
    agent: agent.name,
    model: modelName(scenario.window),
    files,
  });
}

function filesOf({ steps }: CaseSession, folder: string): string[] {
  mkdirSync(folder);
  return steps.flatMap(({ load }) => {
    if (load === undefined) return [];
    const path = join(folder, load.name);
    writeFileSync(path, load.text ?? pagesOf(load.generate ?? { pages: 1, needles: [] }));
    return [path];
  });
}

function answerAfter(steps: readonly CaseStep[], at: number): string {
  const rest = steps.slice(at + 1);
  const next = rest.findIndex(({ say }) => say !== undefined);
  const until = next === -1 ? rest : rest.slice(0, next);
  return until.find(({ answer }) => answer !== undefined)?.answer ?? "Understood.";
}

async function takeStep(
  engine: Engine,
  session: Session,
  step: CaseStep,
  answer: string,
  { session: described, script }: { readonly session: CaseSession; readonly script: Script },
): Promise<void> {
  const { record, pin, say, compact, remember, move } = step;
  const owner = agentOf(described);
  if (record !== undefined) {
    const { kind, key, value, because } = record;
    await inKind(kind, (one) => session.record(one, key, value, because === undefined ? {} : { because }));
  }
  if (pin !== undefined) await callIfThere(session, "pin", pin.kind, pin.key);
  if (say !== undefined) {
    script.answer = answer;
    await takeTurn(session, say);
  }
  if (compact === true) {
    const { compacted } = await session.compress();
    if (!compacted) throw new Error("nothing was compacted");
  }
  if (remember !== undefined) {
    const { scope, kind, key, value } = remember;
    const whose = scope === "agent" ? { owner } : {};
    const entry = { scope: scope as "agent", key, value, ...whose };
    await inKind(kind, (one) => engine.remember({ ...entry, kind: one }));
  }
  if (move !== undefined) await session.migrate({ model: modelName(move.window) });
  if (step.forget !== undefined) await takeBack(engine, session, step.forget);
}

/** To before so many of these turns, which began at these positions; a fork goes on by itself. */
async function goBack(
  session: Session,
  { rewind, fork }: CaseStep,
  turns: readonly number[],
): Promise<Session | void> {
  const { turns: count = 0 } = rewind ?? fork ?? {};
  const atSeq = turns.at(-count);
  if (fork !== undefined) return session.fork(count === 0 || atSeq === undefined ? {} : { atSeq });
  await session.rewind(atSeq ?? 1);
}

async function takeBack(
  engine: Engine,
  session: Session,
  { scope, kind = "fact", key }: NonNullable<CaseStep["forget"]>,
): Promise<void> {
  if (scope === undefined) {
    await session.retract(kind, key);
    return;
  }
  const entries = await engine.memory({ scope: scope as "agent" });
  const entry = entries.find((one) => one.key === key);
  if (entry === undefined) throw new Error(`no entry ${key}`);
  const { owner } = entry;
  await engine.forget({ scope: entry.scope, kind: entry.kind, key, ...(owner === null ? {} : { owner }) });
}

/** Until 0.5 there are four kinds: what a person would have used instead stands in for the others. */
async function inKind(kind: string, work: (kind: "fact") => Promise<unknown>): Promise<void> {
  const instead = ["constraint", "preference"].includes(kind) ? "decision" : "fact";
  await work(kind as "fact").catch(async (error: unknown) => {
    if (kind === instead) throw error;
    await work(instead as "fact");
  });
}

/** Calls a method that this version of the engine may not have. */
async function callIfThere(on: object, name: string, ...given: unknown[]): Promise<void> {
  const method: unknown = Reflect.get(on, name);
  if (typeof method !== "function") throw new Error(`there is no call ${name}`);
  await (method as (...all: unknown[]) => Promise<unknown>).apply(on, given);
}

async function takeTurn(session: Session, input: string): Promise<void> {
  await session.input(input);
  const { status } = await session.run();
  if (status !== "open") throw new Error(`the session is ${status}`);
}

/** A model that says what it is told to, and keeps the context of its last step. */
interface Script {
  answer: string;
  parts: readonly ContextPart[];
  readonly models: Models;
}

const modelName = (windowTokens: number): string => `bench/w${windowTokens}`;

function makeScript(): Script {
  const model = (name: string): Model => ({
    name,
    facts: {
      windowTokens: Number(name.slice("bench/w".length)),
      outputTokensMax: 2_000,
      images: false,
      price: null,
    },
    // oxlint-disable-next-line require-yield -- this model says everything at once
    async *stream({ parts }) {
      const isSummary = textOf(parts.slice(-1)).startsWith(compactionPromptLine);
      if (!isSummary) script.parts = parts;
      return {
        blocks: [{ type: "text", text: isSummary ? "The work went on as planned." : script.answer }],
        finish: "stop",
        usage: null,
        sent: null,
      };
    },
  });
  const models: Models = {
    byDefault: modelName(200_000),
    model: async (name) => model(name),
    list: () => [],
  };
  const script: Script = { answer: "", parts: [], models };
  return script;
}
