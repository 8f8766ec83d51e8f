/**
 * Runs again: repeats the inputs after a position in a fork at that position, with another model or other
 * instructions, and against the recorded results of tools. The original is only read.
 */
import { present } from "../../core/present.ts";
import { shortId } from "../../core/text/short-id.ts";
import type { Budget } from "../../core/budget/commands.ts";
import type { Pin } from "../../core/session/commands.ts";
import { agentDigest, checkAgent, type AgentDefinition } from "../../core/workspace/agent.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { ToolDefinition } from "../../core/context/part.ts";
import { includes } from "../../core/range.ts";
import {
  pairScores,
  pairTurns,
  totalsOf,
  type ReplayReport,
  type ReplayTurn,
} from "../../core/turn/run-comparison.ts";
import type { State } from "../../core/state.ts";
import type { Model, Models } from "../../model/port.ts";
import { freshSessionId, madeBefore } from "../log/request-scope.ts";
import { readContent } from "../read/content.ts";
import { diffPlaces } from "../branch/diff.ts";
import { forkCommand } from "../branch/fork.ts";
import { changeModel } from "../transfer/move-model.ts";
import { resolvePlace } from "../read/position.ts";
import { makeRecording, notRecorded, recordedSource, type RecordedTools } from "./replay-tools.ts";
import { scoreRuns, type ReplayScorer } from "./replay-score.ts";
import { readTurns, type RecordedInput, type TakenTurn } from "./replay-turn.ts";
import type { Deps } from "../deps.ts";
import { assertReviewed } from "../govern/review.ts";
import { agentOf } from "../workspace/session-agent.ts";
import { modelOf } from "../context/model-settings.ts";

export interface RerunOptions {
  readonly from: number | string;
  readonly model?: string | undefined;
  readonly instructions?: string | undefined;
  readonly tools?: "recorded" | "live" | undefined;
  readonly name?: string | undefined;
  readonly budget?: Budget | undefined;
  readonly score?: ReplayScorer | undefined;
  readonly progress?: ((done: number, of: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export async function rerun(deps: Deps, session: SessionId, options: RerunOptions): Promise<ReplayReport> {
  const again = await madeBefore(deps);
  if (again !== null) {
    throw new SkeinError("conflict", `replay: this key already started a replay in ${again}`, {
      hint: "read that session, or use another key",
    });
  }
  const head = await deps.writer.current(session);
  assertReviewed(session, head);
  const { from, turns } = await turnsFrom(deps, session, head, options.from);
  const before = await deps.states.at(session, from);
  const { agent } = await agentOf(deps, session, before);
  // Reports everything that is missing before anything is written.
  const settings = await settingsOf(deps, session, turns, options.model);
  for (const name of new Set(settings.map(({ model }) => model))) await modelOf(deps, name ?? agent?.model);
  const pin = options.instructions === undefined ? null : pinWith(deps, before, agent, options.instructions);
  const fork = await forkFor(deps, session, from, { ...options, pin });
  const live = options.tools === "live";
  const replay = makeReplay(deps, { session, fork, turns, settings, live });
  const stopped = await askAgain(replay, options);
  const { instructions = null, score } = options;
  return reportOf(replay, { head, from, stopped, instructions, score });
}

/**
 * The turns that had not ended at a position. The first of them runs again as a whole, with everything that
 * was there when it began: so the fork leaves right before it, and not in the middle of its preparation.
 */
async function turnsFrom(
  deps: Deps,
  session: SessionId,
  head: State,
  place: number | string,
): Promise<{ readonly from: number; readonly turns: readonly TakenTurn[] }> {
  const seq = await resolvePlace(deps, session, place);
  if (includes(head.mind.lost, seq)) {
    throw new SkeinError("refused", `replay: position ${seq} of ${session} lies in a rewound range`, {
      hint: "fork the session at the end of the range, and replay the fork",
    });
  }
  const { turn } = (await deps.states.at(session, seq)).standing;
  const turns = await readTurns(deps, session, turn === null ? seq : turn.startedSeq - 1, head);
  const [first] = turns;
  if (first !== undefined) return { from: first.startedSeq - 1, turns };
  throw new SkeinError("refused", `replay: ${session} has no input after ${seq}`, {
    hint: "use an earlier position",
  });
}

/** The settings of a repeated turn. */
interface TurnSettings {
  /** The tools offered to the model then. */
  readonly definitions: readonly ToolDefinition[];
  /** The requested one, or else the original's at that time. */
  readonly model: string | undefined;
}

async function settingsOf(
  { states, store }: Deps,
  session: SessionId,
  turns: readonly TakenTurn[],
  model: string | undefined,
): Promise<readonly TurnSettings[]> {
  const settings: TurnSettings[] = [];
  for (const { startedSeq } of turns) {
    const { standing } = await states.at(session, startedSeq);
    const bound = standing.tools.at(-1);
    const content = bound === undefined ? undefined : await readContent(store, session, bound.seq);
    const given = (content as { readonly definitions?: unknown } | undefined)?.definitions;
    const definitions = Array.isArray(given) ? (given as ToolDefinition[]) : [];
    settings.push({ definitions, model: model ?? standing.model ?? undefined });
  }
  return settings;
}

/** The agent with other instructions. The workspace has no such version, so it gets a new name. */
function pinWith(
  { world }: Deps,
  { standing }: State,
  agent: AgentDefinition | null,
  instructions: string,
): Pin {
  const own = `${(standing.agent?.name ?? "default").slice(0, 57)}-replay`;
  const definition = checkAgent({ ...agent, name: own, instructions });
  return { agent: own, version: 1, digest: agentDigest(world.digest, definition), definition };
}

async function forkFor(
  deps: Deps,
  session: SessionId,
  from: number,
  { name, budget, pin }: Pick<RerunOptions, "name" | "budget"> & { readonly pin: Pin | null },
): Promise<SessionId> {
  const { writer, actor } = deps;
  const plan = await forkCommand(deps, session, from, {
    name: (name ?? `replay of ${shortId(session)} from ${from}`).slice(0, limit.nameCharsMax),
    labels: { replay: `${session}@${from}` },
    ...present({ budget }),
  });
  const command = pin === null ? plan.command : { ...plan.command, pin };
  const id = await freshSessionId(deps);
  await writer.begin(id, { ...plan, command }, { actor });
  return id;
}

interface Replay {
  /** With the tools of the recording, and a model that reports the end of each step. */
  readonly deps: Deps;
  readonly session: SessionId;
  readonly fork: SessionId;
  readonly turns: readonly TakenTurn[];
  /** One for each turn. */
  readonly settings: readonly TurnSettings[];
  readonly recording: RecordedTools;
  /** The current repeated turn, and which of its inputs were steered in already. */
  readonly now: {
    definitions: readonly ToolDefinition[];
    steered: TakenTurn["steered"];
    /** The memory news of the next turn, and the number of the turn before it. */
    carried: TakenTurn["carried"];
    lastTurn: number;
  };
}

function makeReplay(
  outer: Deps,
  given: Pick<Replay, "session" | "fork" | "turns" | "settings"> & { readonly live: boolean },
): Replay {
  const { live, ...rest } = given;
  const recording = makeRecording(given.turns.flatMap(({ calls }) => calls));
  const now: Replay["now"] = { definitions: [], steered: [], carried: null, lastTurn: 0 };
  const tools = recordedSource({
    deps: outer,
    original: given.session,
    recording,
    live,
    definitions: () => now.definitions,
  });
  const deps: Deps = {
    ...outer,
    tools: async () => tools,
    recordedNews: ({ standing }) => (standing.lastTurn === now.lastTurn ? now.carried : null),
    models: async () => steering(await modelsOf(outer), () => steer(replay)),
  };
  const replay: Replay = { ...rest, recording, now, deps };
  return replay;
}

async function modelsOf({ models }: Deps): Promise<Models> {
  if (models === undefined) throw new SkeinError("unavailable", "replay: no models are configured");
  return models();
}

/** Models that report an answer before it is recorded. */
const steering = (models: Models, answered: () => Promise<void>): Models => ({
  byDefault: models.byDefault,
  list: () => models.list(),
  async model(name) {
    const model = await models.model(name);
    const stream: Model["stream"] = async function* (call) {
      const answer = yield* model.stream(call);
      await answered();
      return answer;
    };
    return { name: model.name, facts: model.facts, stream };
  },
});

/** Inputs that steered the original come in after as many steps. */
async function steer(replay: Replay): Promise<void> {
  const { now, deps, fork } = replay;
  const { turn } = (await deps.writer.current(fork)).standing;
  const due = now.steered.filter(({ afterSteps }) => afterSteps <= (turn?.steps ?? 0));
  now.steered = now.steered.filter((one) => !due.includes(one));
  for (const { input } of due) await give(replay, input, "steer");
}

/** Returns why it ended before all inputs; null otherwise. */
async function askAgain(
  replay: Replay,
  { progress, signal }: Pick<RerunOptions, "progress" | "signal">,
): Promise<ReplayReport["stopped"]> {
  const { turns, settings, now } = replay;
  for (const [place, turn] of turns.entries()) {
    if (signal?.aborted === true) return broken;
    // Inputs that were not steered in, because the turn had fewer steps this time, are given now.
    const late = now.steered.map(({ input }) => input);
    now.steered = turn.steered;
    now.definitions = settings[place]?.definitions ?? [];
    await goOnWith(replay, settings[place]?.model);
    now.carried = turn.carried;
    now.lastTurn = (await replay.deps.writer.current(replay.fork)).standing.lastTurn;
    const begun = turn.begun.length === 0 ? [goOn] : turn.begun;
    for (const input of [...late, ...begun]) await give(replay, input);
    const stopped = await runTurn(replay, signal);
    if (stopped !== null) return stopped;
    progress?.(place + 1, turns.length);
  }
  const late = now.steered.map(({ input }) => input);
  now.steered = [];
  for (const input of late) await give(replay, input);
  return late.length === 0 ? null : runTurn(replay, signal);
}

/** Another harness began a turn without an input; here a turn needs one. */
const goOn: RecordedInput = {
  type: "input.received",
  from: "system",
  blocks: [{ type: "text", text: "(Go on.)" }],
};

async function goOnWith({ deps, fork }: Replay, model: string | undefined): Promise<void> {
  const { standing } = await deps.writer.current(fork);
  if (model === undefined || standing.model === model) return;
  await changeModel(deps, fork, model);
}

async function give({ deps, fork }: Replay, input: RecordedInput, mode?: "steer"): Promise<void> {
  const { writer, actor } = deps;
  if (input.type === "message.received") {
    const { from, message, number, topic } = input.body;
    const about = present({ topic });
    const said = { do: "receive", from, message, text: input.text, ...about } as const;
    // An input that was queued again after a rewind is taken twice.
    const receive = ({ standing }: State) =>
      ({ ...said, number: Math.max(number, (standing.received.get(from) ?? 0) + 1) }) as const;
    await writer.change(fork, receive, { actor });
    return;
  }
  const record = { ...input, ...present({ mode }) };
  await writer.change(fork, { do: "append", records: [record] }, { actor });
}

/** Null when the fork is idle again. */
async function runTurn(replay: Replay, signal: AbortSignal | undefined): Promise<ReplayReport["stopped"]> {
  const { deps, fork } = replay;
  const interrupt = (idle: boolean): Promise<unknown> =>
    deps.writer.change(fork, { do: "interrupt", idle }, { actor: deps.actor }).catch(() => null);
  const stop = (): void => void interrupt(false);
  signal?.addEventListener("abort", stop, { once: true });
  try {
    for (;;) {
      const ran = await deps.runs.run(fork, present({ signal }), deps);
      const { standing } = await deps.writer.current(fork);
      const asked = ran.status === "suspended" && ran.by === "approval" && signal?.aborted !== true;
      if (asked && (await answerAsked(replay))) continue;
      // An open turn would continue with tools outside the recording.
      if (standing.turn !== null) await interrupt(true);
      if (signal?.aborted === true) return broken;
      if (ran.status === "open") return null;
      const { why } = standing;
      const content = why === null ? undefined : await readContent(deps.store, fork, why.seq);
      const { reason = null } = (content ?? {}) as { readonly reason?: string };
      return { by: ran.by ?? ran.status, reason };
    }
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

const broken = { by: "signal", reason: "interrupted" } as const;

/** No person is asked again: the original's answers allow, and everything else is denied. */
async function answerAsked({ deps, fork, recording }: Replay): Promise<boolean> {
  const { store, writer, actor } = deps;
  const { mind } = await writer.current(fork);
  const asked = [...mind.calls.entries()].filter(([, { phase }]) => phase === "asked");
  for (const [call, { seq, tool }] of asked) {
    const content = (await readContent(store, fork, seq)) as { readonly input?: unknown } | undefined;
    const found = recording.find({ seq, tool, input: content?.input ?? null });
    const reason = found === null ? notRecorded : found.denied?.reason;
    const because = present({ reason });
    const allow = found !== null && found.denied === null;
    await writer.change(fork, { do: "answer", allow, calls: [call], ...because }, { actor });
  }
  return asked.length > 0;
}

async function reportOf(
  replay: Replay,
  run: Pick<ReplayReport, "from" | "stopped" | "instructions"> & {
    readonly head: State;
    readonly score: ReplayScorer | undefined;
  },
): Promise<ReplayReport> {
  const { deps, session, fork, recording } = replay;
  const { head, score, ...rest } = run;
  const ended = await deps.writer.current(fork);
  const original = replay.turns.map(shown);
  const replayed = (await readTurns(deps, fork, run.from, ended)).map(shown);
  const pairs = pairTurns(original, replayed);
  const was = { side: "original", session, state: head, turns: original } as const;
  const is = { side: "replay", session: fork, state: ended, turns: replayed } as const;
  const judged = score === undefined ? null : await scoreRuns(deps, score, was, is);
  const now = await deps.writer.current(fork);
  const places = { from: { session, at: head.seq }, to: { session: fork, at: now.seq } };
  const { items = [] } = await diffPlaces(deps, fork, places, { only: ["items"] });
  const scoresOf = ({ standing }: State): Map<string, number> =>
    new Map([...standing.scores.entries()].map(([name, { value }]) => [name, value]));
  const same =
    items.length === 0 &&
    pairs.every(({ match, calls }) => match === "same" && calls.every((call) => call.match === "same"));
  return {
    session,
    fork,
    model: { original: head.standing.model, replay: now.standing.model },
    same,
    turns: pairs,
    totals: { original: totalsOf(original), replay: totalsOf(replayed) },
    items,
    // Recorded scores of the original take precedence over new ones.
    scores: pairScores(new Map([...(judged?.original ?? []), ...scoresOf(head)]), scoresOf(now)),
    unrecorded: recording.unrecorded.size,
    ...rest,
  };
}

/** Without the fields that only running it needs. */
function shown({ begun: _, steered: __, calls, ...turn }: TakenTurn): ReplayTurn {
  return { ...turn, calls: calls.map(({ seq, tool, input, status }) => ({ seq, tool, input, status })) };
}
