/** The sections of a handoff: one claim per line, each with its pointer. */
import { isSettled } from "../item/kind.ts";
import { present } from "../present.ts";
import { shortId } from "../text/short-id.ts";
import { budgetLeft } from "../budget/budget.ts";
import { gap } from "../context/text.ts";
import { isSameVersion, type FileVersion } from "../tool/file-version.ts";
import { mayIn } from "../session/lifecycle.ts";
import { includes } from "../range.ts";
import { resources, type ItemRef } from "../state.ts";
import { secondHandText } from "./inherit.ts";
import { isFileTool, type HandoffSource, type InheritedItem } from "./source.ts";
import { moneyText } from "../text/money.ts";
import { count, plural } from "../text/number-format.ts";
import { fieldLine, fieldOf, inLine, pointerTo, textIn } from "./text.ts";

/** The length limits in characters, from the widest to the tightest. */
export interface Width {
  readonly objective: number;
  readonly value: number;
  /** Reasons: of decisions, and of all else. */
  readonly why: number;
  readonly because: number;
  readonly said: number;
  /** How many waiting things are named. */
  readonly waiting: number;
}

export interface HandoffLine {
  readonly seq: number;
  readonly text: string;
  /** The session it points to, if that is another one. */
  readonly of?: string;
}

/** A line of a list: a pointer and a text. */
export const claim = ({ state }: HandoffSource, seq: number, text: string): HandoffLine => ({
  seq,
  text: `- [${pointerTo(state.standing.session)(seq)}] ${text}`,
});

export function objectiveLines(source: HandoffSource, { objective: charsMax }: Width): HandoffLine[] {
  const { objective } = source.state.standing;
  if (objective === null) return [claim(source, 1, "It has no objective.")];
  const content = source.contents.get(objective.seq);
  return [claim(source, objective.seq, fieldLine(content, "objective", "the objective", charsMax))];
}

/** Items of a kind, in order of recording. */
const itemsOf = (
  { state }: HandoffSource,
  kind: ItemRef["kind"],
  isShown: (item: ItemRef) => boolean,
): ItemRef[] =>
  [...state.mind.items.values()]
    .filter((item) => item.kind === kind && isShown(item))
    .toSorted((a, b) => a.seq - b.seq);

/** Valid or open items: first the inherited ones, then those recorded here. */
export function itemLines(source: HandoffSource, kind: ItemRef["kind"], width: Width): HandoffLine[] {
  const own = itemsOf(source, kind, ({ status }) => !isSettled(kind, status));
  return [
    ...inheritedOf(source, kind).map((one) => inheritedLine(source, one, width)),
    ...own.map(({ seq, key, status, confidence }) => {
      const content = source.contents.get(seq);
      return claim(source, seq, itemText({ kind, key, status, ...present({ confidence }), content }, width));
    }),
  ];
}

const inheritedOf = ({ inherited }: HandoffSource, kind: ItemRef["kind"]): InheritedItem[] =>
  inherited.filter((one) => one.kind === kind);

function inheritedLine({ state }: HandoffSource, one: InheritedItem, width: Width): HandoffLine {
  const { session, seq } = one;
  const text =
    "key" in one
      ? itemText(one, width)
      : secondHandText(one.origin, inLine(one.line, secondHandMin + width.value + width.why));
  const of = session === state.standing.session ? {} : { of: session };
  return { seq, text: `- [${pointerTo(session)(seq)}] ${text}`, ...of };
}

/** The minimum shown of a line from an earlier handoff: mostly its key. */
const secondHandMin = 60;

/** Without room for values only the key, which leads to the rest. */
function itemText(
  item: Pick<ItemRef, "kind" | "key"> &
    Partial<Pick<ItemRef, "status" | "confidence">> & {
      readonly content: unknown;
    },
  width: Width,
): string {
  const { kind, key, content } = item;
  const name = inLine(key, 400);
  if (width.value === 0) return name;
  const value = `${markOf(item)}${fieldLine(content, "value", "its value", width.value)}`;
  const because = fieldOf(content, "because");
  const most = kind === "decision" ? width.why : width.because;
  const isReason = typeof because === "string" && because.trim() !== "" && most > 0;
  return `${name}: ${value}${isReason ? `; because ${inLine(because, most)}` : ""}`;
}

/** After the key, so that a list can be read back: `rejected: …`, `open, confidence 0.6: …`. */
function markOf({ kind, status = null, confidence }: Pick<ItemRef, "kind"> & Partial<ItemRef>): string {
  const marks = [
    ...(status === null || kind === "task" ? [] : [status]),
    ...(confidence === undefined ? [] : [`confidence ${confidence}`]),
  ];
  return marks.length === 0 ? "" : `${marks.join(", ")}: `;
}

export function standingLines(source: HandoffSource, width: Width): HandoffLine[] {
  const { state, contents, answerSeq } = source;
  const { standing, seq } = state;
  const { status, why, turn, agent, model, zone } = standing;
  const reason = why === null ? undefined : fieldOf(contents.get(why.seq), "reason");
  const ending = typeof reason === "string" ? `: ${inLine(reason, width.said)}` : ".";
  const cause = why === null ? "" : ` (${why.by})`;
  const done = itemsOf(source, "task", ({ status }) => status === "done");
  const works = [
    ...(agent === null
      ? []
      : [`as ${inLine(agent.name, 100)}${agent.version > 0 ? `@${agent.version}` : ""}`]),
    ...(model === null ? [] : [`with ${inLine(model, 100)}`]),
  ];
  return [
    claim(source, why?.seq ?? seq, `It is ${status}${cause}${ending}`),
    ...(turn === null
      ? []
      : [
          claim(
            source,
            turn.startedSeq,
            `Turn ${turn.number} is in progress, ${plural(turn.steps, "step")} so far.`,
          ),
        ]),
    ...importedLines(source),
    ...(answerSeq === null
      ? []
      : [claim(source, answerSeq, `Its last answer: ${answerOf(source, answerSeq, width)}`)]),
    ...(done.length === 0 ? [] : [doneLine(source, done)]),
    ...(works.length === 0 ? [] : [claim(source, agent?.seq ?? 1, `It works ${works.join(" ")}.`)]),
    claim(source, seq, usedText(source)),
    ...(zone === "smart" ? [] : [claim(source, seq, `Its context is ${zone}.`)]),
  ];
}

/** Where a conversation of another tool took place. */
function importedLines(source: HandoffSource): HandoffLine[] {
  const { imported, contents } = source;
  if (imported === null) return [];
  const content = contents.get(imported.seq);
  const facts: readonly (readonly [string, string])[] = [
    ["cwd", "in"],
    ["gitBranch", "on branch"],
    ["gitCommit", "at commit"],
  ];
  const where = facts.flatMap(([name, word]) => {
    const value = fieldOf(content, name);
    return typeof value === "string" ? [`${word} ${inLine(value, 300)}`] : [];
  });
  const place = content === undefined ? ` (${gap("where")})` : where.map((one) => ` ${one}`).join("");
  return [
    claim(source, imported.seq, `It was imported from ${inLine(imported.tool, 100)}, where it ran${place}.`),
  ];
}

/** The last exchanges in the other tool. */
export function exchangeLines(source: HandoffSource, width: Width): HandoffLine[] {
  const { imported } = source;
  return (imported?.said ?? [])
    .slice(-width.waiting)
    .map(({ seq, by }) =>
      claim(source, seq, `${by === "person" ? "A person" : "The model"}: ${answerOf(source, seq, width)}`),
    );
}

/** The other tool ended before it answered. */
function unansweredLines(source: HandoffSource, said: (seq: number) => string): HandoffLine[] {
  const last = source.imported?.said.at(-1);
  if (last?.by !== "person" || source.answerSeq !== null) return [];
  return [claim(source, last.seq, `Answer the last input, which the other tool did not: ${said(last.seq)}`)];
}

function answerOf({ contents }: HandoffSource, seq: number, width: Width): string {
  const content = contents.get(seq);
  if (content === undefined) return gap("what it said");
  return inLine(textIn(content), width.said * 2) || "(no words, only calls)";
}

const doneNamed = 5;

function doneLine(source: HandoffSource, done: readonly ItemRef[]): HandoffLine {
  const named = done.slice(-doneNamed).map(({ key }) => inLine(key, 60));
  const last = done.at(-1)?.seq ?? source.state.seq;
  const which = done.length > doneNamed ? "the last: " : "";
  return claim(source, last, `${plural(done.length, "task")} done; ${which}${named.join(", ")}.`);
}

function usedText({ state }: HandoffSource): string {
  const { used, limits, unpriced } = state.standing;
  const left = budgetLeft(state);
  const cost = unpriced > 0 && used.nanoUsd === 0 ? "at a price that is not known" : moneyText(used.nanoUsd);
  const spent =
    `Used so far: ${plural(used.turns, "turn")}, ${plural(used.steps, "step")}, ` +
    `${plural(used.toolCalls, "tool call")}, ${plural(used.tokens, "token")}, ${cost}.`;
  const rest = resources.flatMap((name) => {
    const amount = left[name];
    if (amount === undefined) return [];
    return [name === "nanoUsd" ? moneyText(amount) : `${count(amount)} ${units[name] ?? name}`];
  });
  return Object.keys(limits).length === 0 ? spent : `${spent} Left of its budget: ${rest.join(", ")}.`;
}

const units: Readonly<Record<string, string>> = { toolCalls: "tool calls", wallMs: "ms" };

/** What a successor would do first. */
export function nextLines(
  source: HandoffSource,
  width: Width,
): { readonly lines: HandoffLine[]; readonly left: number } {
  const { state, contents, waiting } = source;
  const { standing, mind } = state;
  const said = (seq: number): string => {
    const content = contents.get(seq);
    return content === undefined ? gap("what it said") : inLine(textIn(content), width.said);
  };
  const input = (seq: number): string => {
    const content = contents.get(seq);
    return content === undefined ? "" : `: ${inLine(fieldOf(content, "input"), width.said)}`;
  };
  const calls = [...mind.calls.values()].toSorted((a, b) => a.seq - b.seq);
  const lines = [
    ...calls.map(({ seq, tool, phase }) =>
      claim(
        source,
        seq,
        phase === "asked"
          ? `The call of ${tool} waits for approval${input(seq)}`
          : `The call of ${tool} has no outcome yet${input(seq)}`,
      ),
    ),
    ...turnLines(source),
    ...unansweredLines(source, said),
    ...[...standing.asked.values()].map(({ seq, from }) =>
      claim(source, seq, `Reply to the request from ${from}: ${said(seq)}`),
    ),
    ...[...standing.requests.values()].map(({ seq, to }) =>
      claim(source, seq, `A reply from ${to} is awaited: ${said(seq)}`),
    ),
    ...waiting.map((seq) => claim(source, seq, `Take up the input that waits: ${said(seq)}`)),
  ];
  return {
    lines: [...lines.slice(0, width.waiting), ...firstTask(source)],
    left: Math.max(0, lines.length - width.waiting),
  };
}

/** A turn in progress, or a last turn that did not complete. */
function turnLines(source: HandoffSource): HandoffLine[] {
  const { state, events } = source;
  const { session, turn, status, lastTurn } = state.standing;
  const short = shortId(session);
  if (turn !== null) {
    const rest = "if the session was closed since, with what is left of what it was asked";
    const how = mayIn(status, "settle") ? `: \`skein run ${short}\`; ${rest}.` : ".";
    return [claim(source, turn.startedSeq, `Go on with turn ${turn.number}${how}`)];
  }
  const last = events.findLast(
    (event) => event.type === "turn.ended" && !includes(state.mind.lost, event.seq),
  );
  if (last?.type !== "turn.ended" || last.turn !== lastTurn || last.body.outcome === "completed") return [];
  const { outcome } = last.body;
  const text = `Turn ${lastTurn} did not complete (${outcome}): see what is left of what it was asked.`;
  return [claim(source, last.seq, text)];
}

function firstTask(source: HandoffSource): HandoffLine[] {
  const text = (name: string): string => `Go on with the open tasks, in their order: first ${name}.`;
  const [inherited] = inheritedOf(source, "task");
  if (inherited !== undefined) {
    const { session, seq } = inherited;
    const name = "key" in inherited ? inLine(inherited.key, 400) : inLine(inherited.line, secondHandMin);
    return [{ seq, text: `- [${pointerTo(session)(seq)}] ${text(name)}` }];
  }
  return itemsOf(source, "task", ({ status }) => status === "open")
    .slice(0, 1)
    .map(({ seq, key }) => claim(source, seq, text(inLine(key, 400))));
}

/** Changed paths, each with its last change. */
export function fileLines(source: HandoffSource): HandoffLine[] {
  const touched = new Map<string, { first: FileVersion | null; last: FileVersion | null; seq: number }>();
  for (const { name, files, seq } of source.changes) {
    for (const { path, before, after } of files) {
      const key = `${name}/${path}`;
      const first = touched.has(key) ? (touched.get(key)?.first ?? null) : before;
      touched.set(key, { first, last: after, seq });
    }
  }
  const known = [...touched].flatMap(([path, { first, last, seq }]) => {
    if (isSameVersion(first, last) || (first ?? last)?.kind === "directory") return [];
    const did = first === null ? "made" : last === null ? "removed" : "changed";
    return [claim(source, seq, `${did} ${inLine(path, 300)}`)];
  });
  return [...known, ...calledFiles(source, [...touched.keys()])].toSorted((a, b) => a.seq - b.seq);
}

/** Files that a tool wrote outside of bound directories, where no versions are kept. */
function calledFiles(source: HandoffSource, known: readonly string[]): HandoffLine[] {
  const asked = new Map<string, { readonly tool: string; readonly path: string }>();
  const written = new Map<string, HandoffLine>();
  for (const event of source.events) {
    if (event.type === "tool.requested" && isFileTool(event.body.tool)) {
      const path = fieldOf(fieldOf(source.contents.get(event.seq), "input"), "path");
      if (typeof path === "string") asked.set(event.body.call, { tool: event.body.tool, path });
    }
    if (event.type !== "tool.settled" || event.body.status !== "ok") continue;
    const call = asked.get(event.body.call);
    if (call === undefined || known.some((one) => one.endsWith(call.path.replace(/^\.\//, "")))) continue;
    written.set(call.path, claim(source, event.seq, `${inLine(call.path, 300)}, by ${call.tool}`));
  }
  return [...written.values()];
}

/** The latest; `skein lineage` shows all. */
const mergesShown = 5;

/** The origin of the work. */
export function lineageLines(source: HandoffSource): HandoffLine[] {
  const { state, events, contents, carriesOn } = source;
  const { fork, parent } = state.standing;
  const merges = new Map(
    events.flatMap((event) => (event.type === "session.merged" ? [[event.body.from, event.seq]] : [])),
  );
  const handoffs = [...state.mind.documents.values()].filter(({ kind }) => kind === "handoff");
  return [
    ...(fork === null ? [] : [claim(source, fork.seq + 1, `It is a fork of ${fork.parent}@${fork.seq}.`)]),
    ...(parent === null ? [] : [claim(source, 1, `It was opened by ${parent.session}@${parent.seq}.`)]),
    ...(carriesOn === null ? [] : [claim(source, 1, `It carries on the work of ${carriesOn}.`)]),
    ...handoffs.map(({ seq }) =>
      claim(
        source,
        seq,
        `It began with the handoff ${fieldLine(contents.get(seq), "path", "where it came from", 100)}.`,
      ),
    ),
    ...[...state.mind.bases.entries()]
      .map(([from, toSeq]) =>
        claim(source, merges.get(from) ?? state.seq, `It took over what ${from} knew up to ${toSeq}.`),
      )
      .slice(-mergesShown),
  ];
}
