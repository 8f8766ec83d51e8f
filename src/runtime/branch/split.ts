/**
 * Split: another task that came up in a session gets one of its own, with what matters of this one: chosen
 * items, documents and inputs. One append opens it and says so here; this session goes on as it is.
 */
import { budgetLeft } from "../../core/budget/budget.ts";
import type { Command } from "../../core/command.ts";
import { strangeCount } from "../../core/context/drift.ts";
import { SkeinError } from "../../core/error.ts";
import { inLine } from "../../core/handoff/text.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { present } from "../../core/present.ts";
import type { CopiedItem, LoadedDocument } from "../../core/session/commands.ts";
import type { State } from "../../core/state.ts";
import type { Deps } from "../deps.ts";
import { assertReviewed } from "../govern/review.ts";
import { freshSessionId, madeBefore } from "../log/request-scope.ts";
import { checkObjective } from "../options.ts";
import { readEvents } from "../read/event-reader.ts";
import { distinct } from "./bootstrap.ts";
import { initialFilesOf } from "./carry-over.ts";
import { instructionFiles } from "./instruction-files.ts";
import { hasNoMemory, noMemory } from "./memory-selection.ts";
import { takeOver } from "./predecessor.ts";
import { carriedInProject } from "./project-start.ts";
import { copiesOf } from "./takes.ts";

/** Options of `session.split`. */
export interface SplitOptions {
  /** By default the first of the inputs. */
  readonly objective?: string;
  readonly name?: string;
  /** By kind and key, as `decision/store`. */
  readonly items?: readonly string[];
  /** Positions of inputs that a person typed. By default, where the session has drifted, the last three. */
  readonly inputs?: readonly number[];
  /** Paths of documents that the session was opened with; by default all of them. */
  readonly documents?: readonly string[];
  readonly because?: string;
}

export async function splitSession(
  deps: Deps,
  session: SessionId,
  options: SplitOptions,
): Promise<SessionId> {
  const { writer, store, actor } = deps;
  if (options.objective !== undefined) checkObjective("split", options.objective);
  const before = await madeBefore(deps);
  if (before !== null) return before;
  const state = await writer.current(session);
  assertReviewed(session, state);
  const inputs = await inputsOf(deps, session, state, options.inputs);
  const objective = options.objective ?? objectiveOf(inputs);
  const items = await itemsOf(deps, session, state, { named: options.items, inputs });
  const to = await freshSessionId(deps);
  const opening = await openingOf(deps, session, state, {
    ...present({ name: options.name, documents: options.documents }),
    objective,
    inputs,
    items,
  });
  const open: Command = { do: "open", workspace: store.workspace, ...opening };
  const split: Command = {
    do: "split",
    to,
    objective,
    items: items.map(({ kind, key }) => `${kind}/${key}`),
    inputs: inputs.map(({ seq }) => seq),
    ...present({ reason: options.because }),
  };
  const members = [
    { session, build: split },
    { session: to, build: open, start: {} },
  ];
  await writer.together(members, { actor });
  return to;
}

interface SplitInput {
  readonly seq: number;
  readonly text: string;
}

/** As they were typed. What is attached to them stays. */
async function inputsOf(
  deps: Deps,
  session: SessionId,
  { seq: toSeq, standing }: State,
  asked: readonly number[] | undefined,
): Promise<readonly SplitInput[]> {
  if (asked === undefined) {
    if (!standing.zoneCauses.includes("drift")) return [];
    const found: SplitInput[] = [];
    const newest = { fromSeq: 1, toSeq, types: ["input.received"], reverse: true } as const;
    for await (const event of readEvents(deps.store, session, newest)) {
      const text = typedIn(event);
      if (text !== null) found.unshift({ seq: event.seq, text });
      if (found.length === strangeCount) break;
    }
    return found;
  }
  const found: SplitInput[] = [];
  for (const seq of [...new Set(asked)].toSorted((a, b) => a - b)) {
    const range = { fromSeq: seq, toSeq: Math.min(seq, toSeq) };
    const events = seq > toSeq ? [] : await Array.fromAsync(readEvents(deps.store, session, range));
    const text = events[0] === undefined ? null : typedIn(events[0]);
    if (text === null) {
      throw new SkeinError("invalid", `split: inputs: expected positions of inputs with a text, got ${seq}`, {
        hint: `"skein log ID --type input.received" lists them; what a page or a session sent does not count`,
      });
    }
    found.push({ seq, text });
  }
  return found;
}

/** Null: a person did not type it, or its text was erased. */
function typedIn({
  type,
  actor,
  content,
}: {
  readonly type: string;
  readonly actor: string;
  readonly content?: unknown;
}): string | null {
  if (type !== "input.received" || !actor.startsWith("user")) return null;
  const { blocks = [] } = (content ?? {}) as { readonly blocks?: readonly { readonly text?: unknown }[] };
  const texts = blocks.flatMap(({ text }) => (typeof text === "string" ? [text] : []));
  return texts.length === 0 ? null : texts.join("\n");
}

function objectiveOf([first]: readonly SplitInput[]): string {
  if (first !== undefined) return inLine(first.text, objectiveCharsMax);
  throw new SkeinError("invalid", "split: objective: expected the task of the new session, got nothing", {
    hint: "give an objective, or inputs: the first one is the objective then",
  });
}

const objectiveCharsMax = 500;

/**
 * By default what holds for every task, and what the drifted inputs brought: pinned items, constraints and
 * preferences, and what was recorded since the first of these inputs.
 */
async function itemsOf(
  { store }: Deps,
  session: SessionId,
  state: State,
  {
    named,
    inputs,
  }: { readonly named: readonly string[] | undefined; readonly inputs: readonly SplitInput[] },
): Promise<readonly CopiedItem[]> {
  const { items, pins } = state.mind;
  const missing = named?.find((name) => !items.has(name));
  if (missing !== undefined) {
    throw new SkeinError("not-found", `split: items: no such item ${quote(missing)}`, {
      hint: 'KIND/KEY, such as decision/store; "skein state ID" lists the items',
    });
  }
  const since = inputs[0]?.seq ?? Infinity;
  const isLasting = (kind: string): boolean => kind === "constraint" || kind === "preference";
  const chosen = [...items.entries()].filter(
    ([name, { kind, seq }]) => pins.has(name) || isLasting(kind) || seq > since,
  );
  const names = named ?? chosen.map(([name]) => name);
  return copiesOf(store, session, state, new Set(names));
}

/** The same agent under the same rules, never more: with what is left of the budget. */
async function openingOf(
  deps: Deps,
  session: SessionId,
  state: State,
  given: Pick<SplitOptions, "name" | "documents"> & {
    readonly objective: string;
    readonly inputs: readonly SplitInput[];
    readonly items: readonly CopiedItem[];
  },
): Promise<Omit<Extract<Command, { readonly do: "open" }>, "do" | "workspace">> {
  const { store } = deps;
  const { objective, name, inputs, items } = given;
  const { pin, bind, ...rest } = await takeOver(store, session, state);
  const whose = { objective, agent: rest.agent ?? null, definition: pin?.definition, project: rest.project };
  const isOff = await hasNoMemory(deps, session, state);
  const carried = isOff ? noMemory : await carriedInProject(deps, whose);
  const { files } = await initialFilesOf(store, session, state);
  const documents = distinct([
    ...(await instructionFiles(deps, bind, rest.instructionFiles)),
    ...chosenFiles(files, given.documents),
    ...inputs.map((one) => documentOf(deps, session, one)),
  ]);
  const limits = budgetLeft(state);
  return {
    objective,
    bind,
    ...rest,
    ...present({ pin, name }),
    split: { session, seq: state.seq },
    items,
    ...(documents.length === 0 ? {} : { documents }),
    ...(carried === null ? {} : { carried }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  };
}

function chosenFiles(
  files: readonly LoadedDocument[],
  paths: readonly string[] | undefined,
): readonly LoadedDocument[] {
  if (paths === undefined) return files;
  const missing = paths.find((path) => !files.some((file) => file.path === path));
  if (missing === undefined) return files.filter(({ path = "" }) => paths.includes(path));
  throw new SkeinError("not-found", `split: documents: no such document ${quote(missing)}`, {
    hint: `the session was opened with ${files.map(({ path = "" }) => path).join(", ") || "none"}`,
  });
}

/** Each is a copy with its origin, so that erasing the input finds it. */
function documentOf({ world }: Deps, session: SessionId, { seq, text }: SplitInput): LoadedDocument {
  const shown = text.slice(0, limit.documentBytesMax / 4);
  const bytes = new TextEncoder().encode(shown);
  return {
    kind: "file",
    path: `input ${session}@${seq}`,
    text: shown,
    digest: world.hashBytes(bytes),
    bytes: bytes.length,
    origin: { session, seq },
  };
}
