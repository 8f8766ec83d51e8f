/**
 * What carries over from a session to its successor, and what stays behind. Nothing is left out silently:
 * everything the earlier session has is in one of the two lists.
 */
import type { LoadedDocument } from "../../core/session/commands.ts";
import type { TriggerSetting } from "../../core/trigger/commands.ts";
import { budgetLeft } from "../../core/budget/budget.ts";
import { present } from "../../core/present.ts";
import type { SessionId } from "../../core/ids.ts";
import { count } from "../../core/range.ts";
import type { Amounts, State } from "../../core/state.ts";
import { moneyText } from "../../core/text/money.ts";
import { storedTrigger, type SpecOf, type TriggerSpec } from "../../core/trigger/trigger.ts";
import type { Store } from "../../store/port.ts";
import { contentOf, readContent } from "../read/content.ts";
import { readRecords } from "../read/record-pages.ts";

/** A part that carried over to the next session, or stayed. */
export interface CarriedPart {
  /** `triggers`, `budget`, `files`, `bindings`, `permissions`, `labels`, `agent`, `input`, `items`, … */
  readonly what: string;
  /** Names, or how many there are. */
  readonly names: readonly string[];
  /** Why it stays behind, and what to do about it. */
  readonly why?: string;
}

/** What a session inherited from the one it continues, and what it did not. */
export interface CarryOver {
  readonly from: SessionId;
  readonly moved: readonly CarriedPart[];
  readonly left: readonly CarriedPart[];
}

/** The files that a session was opened with, as they were loaded then. */
export async function initialFilesOf(
  store: Store,
  session: SessionId,
  { mind }: State,
): Promise<{ readonly files: readonly LoadedDocument[]; readonly erased: number }> {
  const files: LoadedDocument[] = [];
  let erased = 0;
  for (const [digest, { kind, seq }] of mind.documents.entries()) {
    if (kind !== "file") continue;
    const content = (await readContent(store, session, seq)) as { path?: string; text?: string } | undefined;
    if (content?.text === undefined) {
      erased += 1;
      continue;
    }
    const { text, path } = content;
    files.push({ kind, digest, text, bytes: Buffer.byteLength(text), ...present({ path }) });
  }
  return { files, erased };
}

export interface MovedTriggers {
  readonly settings: readonly TriggerSetting[];
  /** Why each of the others cannot carry over, by its name. */
  readonly left: ReadonlyMap<string, string>;
}

/**
 * The triggers of a session as its successor sets them: with the next time and the last cause, so that
 * nothing fires twice and nothing is missed.
 */
export async function triggersToMove(
  store: Store,
  session: SessionId,
  { standing }: State,
): Promise<MovedTriggers> {
  const settings: TriggerSetting[] = [];
  const left = new Map<string, string>();
  for (const [name, trigger] of standing.triggers.entries()) {
    const { kind, missed, nextMs, lastCause, topic, from, seq, origin = { session, seq } } = trigger;
    const content = (await readContent(store, session, seq)) as { spec?: unknown } | undefined;
    const spec = content === undefined ? null : storedTrigger(content.spec);
    if (spec === null) left.set(name, "its specification was erased, or needs a newer Skein");
    // A trigger that fired for the last time has nothing left to do.
    else if (kind === "at" && nextMs === null) left.set(name, "its time has passed");
    else if (isReported(spec, lastCause)) left.set(name, "it has reported the end of its sessions");
    else {
      const known = {
        nextMs: nextMs ?? undefined,
        digest: lastCause ?? undefined,
        topic: topic ?? undefined,
        from: from ?? undefined,
        origin,
      };
      const since =
        spec.kind === "session" ? await reportedBy(store, session, name, { spec, seq, state: standing }) : {};
      settings.push({
        name,
        kind,
        spec: { ...(content?.spec as object), ...since },
        missed,
        ...present(known),
      });
    }
  }
  return { settings, left };
}

/** A trigger for the ends of all its sessions fires once. */
const isReported = (spec: TriggerSpec, lastCause: string | null): boolean =>
  spec.kind === "session" && spec.on === "end" && spec.all === true && lastCause !== null;

/** Up to where it has reported each session, so that its successor does not report it again. */
async function reportedBy(
  store: Store,
  session: SessionId,
  name: string,
  {
    spec,
    seq,
    state,
  }: {
    readonly spec: SpecOf<"session">;
    readonly seq: number;
    readonly state: { readonly triggers: State["standing"]["triggers"] };
  },
): Promise<{ readonly since?: Readonly<Record<string, number>> }> {
  const since: Record<string, number> = { ...spec.since };
  if (state.triggers.get(name)?.lastCause === null) return spec.since === undefined ? {} : { since };
  const toSeq = (await store.head(session))?.seq ?? 0;
  const only = { types: ["trigger.fired"], contents: true };
  for await (const record of readRecords(store, session, [seq + 1, toSeq], only)) {
    if ((JSON.parse(record.body) as { readonly name: string }).name !== name) continue;
    const content = (await contentOf(store, record)) as
      | { readonly detail?: { readonly of?: unknown } }
      | undefined;
    if (!Array.isArray(content?.detail?.of)) continue;
    for (const one of content.detail.of as readonly { readonly session: string; readonly seq: number }[])
      since[one.session] = Math.max(one.seq, since[one.session] ?? 0);
  }
  return Object.keys(since).length === 0 ? {} : { since };
}

/** Input for the lists: what the caller carried over. */
export interface CarriedState {
  readonly state: State;
  readonly bindings: readonly string[];
  readonly permissions: readonly string[];
  readonly files: readonly LoadedDocument[];
  readonly erasedFiles: number;
  readonly limits: Amounts | null;
  readonly triggers: MovedTriggers;
  readonly handoff: boolean;
  /** How it closes with it; absent: the session before stays open, and keeps its queue and triggers. */
  readonly succession?: "clear" | "rollover";
  /** The session's name, if the next one has it. */
  readonly name?: string | undefined;
}

export function listCarryOver(from: SessionId, taken: CarriedState): CarryOver {
  const { standing } = taken.state;
  const { agent, model, labels } = standing;
  const moved: CarriedPart[] = [
    { what: "name", names: taken.name === undefined ? [] : [taken.name] },
    { what: "agent", names: agent === null ? [] : [agent.name] },
    { what: "model", names: model === null ? [] : [model] },
    { what: "bindings", names: taken.bindings },
    { what: "permissions", names: taken.permissions },
    { what: "labels", names: [...labels.keys()] },
    { what: "triggers", names: taken.triggers.settings.map(({ name }) => name) },
    { what: "budget", names: taken.limits === null ? [] : amountNames(taken.limits) },
    { what: "files", names: taken.files.map(({ path, digest }) => path ?? digest.slice(0, 12)) },
    { what: "handoff", names: taken.handoff ? [from] : [] },
    ...(taken.succession === undefined ? [] : movedWith(taken)),
  ];
  return { from, moved: moved.filter(isThere), left: leftBehind(taken).filter(isThere) };
}

/** What goes over only because the session before closes with it. */
function movedWith({ state: { standing, mind }, succession }: CarriedState): CarriedPart[] {
  const open = [...standing.requests.keys(), ...standing.asked.keys()];
  return [
    { what: "input", names: some(count(standing.inbox.waiting)) },
    { what: "contracts", names: [...standing.contracts.keys()] },
    { what: "holds", names: [...standing.holds.keys()] },
    { what: "requests", names: open },
    { what: "pins", names: succession === "rollover" ? [...mind.pins.keys()] : [] },
  ];
}

const some = (number: number): string[] => (number === 0 ? [] : [String(number)]);

const isThere = ({ names }: CarriedPart): boolean => names.length > 0;

function leftBehind({ state, handoff, succession, ...taken }: CarriedState): CarriedPart[] {
  const { standing, mind } = state;
  const missing = (had: Iterable<string>, has: readonly string[]): string[] =>
    [...had].filter((name) => !has.includes(name));
  const stays = <T>(names: readonly T[]): readonly T[] => (succession === undefined ? names : []);
  const limits = taken.limits === null ? amountNames(budgetLeft(state)) : [];
  const erased = "the content was erased";
  return [
    ...[...taken.triggers.left].map(([name, why]) => ({ what: "triggers", names: [name], why })),
    { what: "budget", names: limits, why: "it was given a budget" },
    { what: "files", names: some(taken.erasedFiles), why: erased },
    { what: "bindings", names: missing(standing.bindings.keys(), taken.bindings), why: erased },
    { what: "permissions", names: missing(standing.permissions.keys(), taken.permissions), why: erased },
    {
      what: "input",
      names: stays(some(count(standing.inbox.waiting))),
      why: "inputs that were not processed stay in the earlier session's log",
    },
    {
      what: "items",
      names: handoff ? [] : some(mind.items.size),
      why: "a handoff would name them: --handoff, or open --from",
    },
    { what: "contracts", names: stays([...standing.contracts.keys()]), why: "declare them again" },
    {
      what: "holds",
      names: stays([...standing.holds.keys()]),
      why: "a hold keeps the log that it was set on",
    },
    { what: "checkpoints", names: [...standing.checkpoints.keys()], why: "they name positions of that log" },
    { what: "scratch", names: [...mind.scratch.keys()], why: "it is working memory of that session" },
  ];
}

const amountNames = (amounts: Amounts): string[] =>
  Object.entries(amounts as Record<string, number>).map(([name, amount]) =>
    name === "nanoUsd" ? moneyText(amount) : `${amount} ${name}`,
  );
