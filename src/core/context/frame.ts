/** The front of a context: settings, tools, instructions, documents, memory. */
import type { SessionLogEvent } from "../event.ts";
import type { AmendedTexts, Ref, State } from "../state.ts";
import { field, frontToolsSeq, put, type ContextSource, type PartKind, type Sheet } from "./source.ts";
import { constraintLines, frontOf } from "../amend/text.ts";
import { cut, gap, isBlank, share, textOf } from "./text.ts";
import { toolDefinitions } from "./tools.ts";

export function renderFrame(source: ContextSource, sheet: Sheet): void {
  renderFront(source, sheet);
  renderDocuments(source, sheet);
  renderMemory(source, sheet);
}

/** Settings, tools and instructions. */
export function renderFront(source: ContextSource, sheet: Sheet): void {
  const { settings, events } = source;
  put(sheet, { part: "settings", settings }, ["settings", "model settings"], [0, 0]);
  const toolsSeq = frontToolsSeq(source);
  const tools = toolDefinitions(events.get(toolsSeq));
  const reason = ["tools", "tools offered"] as const;
  if (tools.length > 0) put(sheet, { part: "tools", tools }, reason, [toolsSeq, toolsSeq]);
  renderInstructions(source, sheet);
}

export function say(sheet: Sheet, said: string, reason: readonly [PartKind, string], seq: number): void {
  if (!isBlank(said)) put(sheet, { part: "system", text: said.toWellFormed() }, reason, [seq, seq]);
}

const instructed = (why: string) => ["instructions", why] as const;

function renderInstructions({ state, events }: ContextSource, sheet: Sheet): void {
  const { agent, texts } = frontOf(state);
  if (agent !== null && agent.version > 0) {
    const definition = field(contentAt(events, agent.seq), "definition");
    const instructions = field(definition, "instructions");
    const said = definition === undefined ? gap("the agent's instructions") : instructions;
    if (typeof said === "string")
      say(sheet, said, instructed(`instructions of ${agent.name}@${agent.version}`), agent.seq);
  }
  renderTexts(events, texts, sheet);
}

/** The session's own texts, each from the opening, or from its last amendment. */
function renderTexts(events: ContextSource["events"], texts: AmendedTexts, sheet: Sheet): void {
  const opened = contentAt(events, 1);
  if (opened === undefined) {
    const missing = gap("what this session was opened for, and its instructions");
    say(sheet, missing, instructed("the session's opening"), 1);
  }
  const put = (name: keyof AmendedTexts, words: (value: unknown) => string | null): void => {
    const seq = texts[name] ?? 1;
    const content = contentAt(events, seq);
    const said = content === undefined && seq > 1 ? gap(`the amended ${name}`) : words(field(content, name));
    if (said !== null) say(sheet, said, instructed(`the session's ${name}`), seq);
  };
  put("instructions", (value) => (typeof value === "string" ? value : null));
  put("objective", (value) =>
    typeof value === "string" && !isBlank(value) ? `Objective of this session:\n${value}` : null,
  );
  put("constraints", (value) =>
    Array.isArray(value) && value.length > 0 ? `Constraints:\n${constraintLines(value)}` : null,
  );
}

/** Whether it comes from before the first turn. Later documents and memory appear where they were added. */
export const isEarly = ({ mind }: State, { seq }: { readonly seq: number }): boolean =>
  mind.firstTurnSeq === 0 || seq < mind.firstTurnSeq;

const early = <T extends Ref>(state: State, refs: Iterable<T>): readonly T[] =>
  [...refs].filter((ref) => isEarly(state, ref)).toSorted((a, b) => a.seq - b.seq);

function renderDocuments({ state, events }: ContextSource, sheet: Sheet): void {
  let left: number = share.documentsCharsMax;
  for (const { seq, kind } of early(state, state.mind.documents.values())) {
    const said = documentText(events.get(seq), { seq, kind }, Math.min(left, share.documentCharsMax));
    left = Math.max(0, left - said.length);
    const why = kind === "agents-md" ? "a project's instructions" : `a document (${kind})`;
    say(sheet, said, ["document", why], seq);
  }
}

/** A document, truncated if it exceeds its share. */
export function documentText(
  event: SessionLogEvent | undefined,
  { seq, kind }: { readonly seq: number; readonly kind: string },
  charsMax: number,
): string {
  const content: unknown = event?.content;
  const said = field(content, "text");
  const path = field(content, "path");
  const name = typeof path === "string" ? `${path} (${kind})` : kind;
  if (typeof said !== "string") return gap(`a document (${kind})`);
  const words = said.toWellFormed();
  const rest = `recall with fromSeq ${seq} reads it`;
  if (charsMax < 1_000 && words.length > charsMax) {
    return `Document ${name}: ${words.length} characters, not shown; ${rest}.`;
  }
  const shown = cut(words, charsMax, (left) => `${left} characters left out; ${rest}`);
  return `Document ${name}:\n\n${shown}`;
}

function renderMemory({ state, events }: ContextSource, sheet: Sheet): void {
  let left: number = share.memoryCharsMax;
  for (const { seq } of early(state, state.mind.memory)) {
    const said = memoryText(contentAt(events, seq), seq, left);
    left = Math.max(0, left - said.length);
    say(sheet, said, ["memory", "memory of earlier sessions"], seq);
  }
}

/** Items of earlier sessions, as many as fit. */
export function memoryText(content: unknown, seq: number, charsMax: number): string {
  const items = field(content, "items");
  if (!Array.isArray(items)) return gap("memory of earlier sessions");
  const lines: string[] = [];
  let chars = 0;
  for (const item of items as unknown[]) {
    const why = field(item, "why");
    const because = typeof why === "string" ? ` (${why})` : "";
    const [kind, key, value] = ["kind", "key", "value"].map((name) => textOf(field(item, name)));
    const line = `- ${kind} ${key}: ${value}`;
    chars += line.length + because.length;
    if (chars > charsMax) break;
    lines.push(line + because);
  }
  const more = items.length - lines.length;
  if (more > 0) lines.push(`- and ${more} more; recall with fromSeq ${seq} reads them`);
  return lines.length === 0 ? "" : `Known from earlier sessions:\n${lines.join("\n")}`;
}

const contentAt = (events: ContextSource["events"], seq: number): unknown => events.get(seq)?.content;
