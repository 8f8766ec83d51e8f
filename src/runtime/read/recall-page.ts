/**
 * Pages of a recall: what it gives back fits into one result of a tool, and says how to read on. A text of
 * any record is read by characters or by sections.
 */
import { present } from "../../core/present.ts";
import type { SessionAct } from "../../core/tool/session-action.ts";
import { carriedText, type CarriedEntry } from "../../core/memory/choice.ts";
import { nearest, SkeinError } from "../../core/error.ts";
import type { SessionEvent } from "../../core/event.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { findSection, outlineLine, outlineOf, type Section } from "../../core/rank/outline.ts";
import type { State } from "../../core/state.ts";
import { itemKey } from "../../core/item/fold.ts";
import type { Deps } from "../deps.ts";
import { isWholeOutput, readBlob } from "./content.ts";
import { readEvents } from "./event-reader.ts";
import { readItem, readSaid } from "./projection.ts";
import { readRecords } from "./record-pages.ts";

export type RecallRequest = Omit<Extract<SessionAct, { act: "recall" }>, "act" | "session">;

/** Characters of one result as JSON; a longer one would be cut in the middle. */
const resultCharsMax = limit.toolOutputCharsMax;
/** Characters of a text in one result: JSON needs more of some characters. */
const textCharsMax = Math.floor(resultCharsMax * 0.9);
/** Characters of the other fields beside a text, and of those of an item with its key and reason. */
const fieldsCharsMax = 300;
const itemFieldsCharsMax = 1_000;
/** Characters of one record among others. */
const briefCharsMax = 6_000;
/** Records of one recall. */
const eventsMax = 100;

/** Records from a position on, as many as fit. */
export async function readSpan(
  { store }: Deps,
  session: SessionId,
  state: State,
  { fromSeq = 1, toSeq = fromSeq }: RecallRequest,
): Promise<unknown> {
  const last = Math.min(toSeq, state.seq);
  const room = makeRoom();
  const events: unknown[] = [];
  for await (const event of readEvents(store, session, { fromSeq, toSeq: last, limit: eventsMax + 1 })) {
    const shown = brief(event, fromSeq === last ? textCharsMax : briefCharsMax);
    if (events.length < eventsMax && room.takes(shown)) {
      events.push(shown);
      continue;
    }
    events.push({ readOn: `recall with fromSeq ${event.seq} and toSeq ${toSeq} reads on` });
    break;
  }
  return events;
}

/** A record; a long one begins with its text, and says how to read on. */
function brief(event: SessionEvent, charsMax: number): unknown {
  const { seq, at, type, actor, content, erased } = event;
  const head = { seq, at: new Date(at).toISOString(), type, actor };
  if (erased) return { ...head, erased };
  if (JSON.stringify(content ?? null).length <= charsMax) return { ...head, content };
  const text = textOfContent(content);
  const shown = fittingText(text, 0, Math.floor(charsMax * 0.8), charsMax - 400);
  return {
    ...head,
    text: shown,
    chars: text.length,
    readOn: readOnText({ fromSeq: seq, fromChar: shown.length }),
  };
}

const readOnText = ({ fromSeq, fromChar }: { readonly fromSeq: number; readonly fromChar: number }): string =>
  `recall with fromSeq ${fromSeq} and fromChar ${fromChar} reads on; with outline it lists the sections`;

/** The outline, a section, or a range of the text at a position. */
export async function readText(
  deps: Deps,
  session: SessionId,
  state: State,
  wanted: RecallRequest & { readonly fromSeq: number },
): Promise<unknown> {
  const { fromSeq, section: named, outline = false, fromChar = 0 } = wanted;
  const { text, path } = await textAt(deps, session, state, fromSeq);
  if (outline) return outlinePage(text, outlineOf(text, path), { fromSeq, fromChar });
  if (named === undefined) {
    if (fromChar >= text.length && fromChar > 0) throw beyond(fromSeq, fromChar, text.length);
    return textPage(text, [fromChar, text.length], { fromSeq });
  }
  const sections = outlineOf(text, path);
  const section = findSection(sections, named);
  if (section === undefined) throw noSection(sections, fromSeq, named);
  const { name, title, from, end } = section;
  const at = fromChar === 0 ? from : fromChar;
  if (at < from) {
    throw new SkeinError("invalid", `recall: fromChar: expected at least ${from}, got ${fromChar}`, {
      hint: `omit it to read the section ${quote(name)} from its beginning`,
    });
  }
  if (at >= end) throw beyond(fromSeq, fromChar, end);
  return { section: name, title, ...textPage(text, [at, end], { fromSeq, section: name }) };
}

const beyond = (fromSeq: number, fromChar: number, end: number): SkeinError =>
  new SkeinError("invalid", `recall: fromChar: expected less than ${end}, got ${fromChar}`, {
    hint: `recall with fromSeq ${fromSeq} and outline lists where its sections are`,
  });

function noSection(sections: readonly Section[], fromSeq: number, named: string): SkeinError {
  const near = nearest(
    named.slice(0, 100),
    sections.map(({ name }) => name),
  );
  const message = `recall: section: position ${fromSeq} has no section ${quote(named.slice(0, 100))}`;
  const other = near === undefined ? "" : `did you mean ${quote(near)}? `;
  return new SkeinError("not-found", message, {
    hint: `${other}recall with fromSeq ${fromSeq} and outline lists the sections`,
  });
}

function textPage(
  text: string,
  [from, end]: readonly [number, number],
  place: { readonly fromSeq: number; readonly section?: string },
  besides = fieldsCharsMax,
): Readonly<Record<string, unknown>> {
  const part = fittingText(text.slice(0, end), from, textCharsMax, resultCharsMax - besides);
  const nextChar = from + part.length;
  if (nextChar >= end) return { text: part.toWellFormed() };
  const { fromSeq, section } = place;
  const where =
    section === undefined ? `fromSeq ${fromSeq}` : `fromSeq ${fromSeq}, section ${quote(section)}`;
  const readOn = `recall with ${where} and fromChar ${nextChar} reads on`;
  return { text: part.toWellFormed(), nextChar, chars: text.length, readOn };
}

/** Characters from a place on, of which the JSON fits; no half of a character at its end. */
function fittingText(text: string, from: number, charsMax: number, jsonMax: number): string {
  let part = text.slice(from, from + charsMax);
  for (let json = JSON.stringify(part).length; json > jsonMax; json = JSON.stringify(part).length)
    part = part.slice(0, Math.max(1, Math.floor((part.length * jsonMax) / json) - 1));
  const isHalf = from + part.length < text.length && /[\uD800-\uDBFF]$/.test(part) && part.length > 1;
  return isHalf ? part.slice(0, -1) : part;
}

function outlinePage(
  text: string,
  sections: readonly Section[],
  { fromSeq, fromChar }: { readonly fromSeq: number; readonly fromChar: number },
): unknown {
  const room = makeRoom();
  const lines: string[] = [];
  const head = { chars: text.length };
  for (const section of sections) {
    if (section.from < fromChar || (section.level > 0 && section.part > 1)) continue;
    const line = outlineLine(section);
    if (room.takes(line)) lines.push(line);
    else {
      const readOn = `recall with fromSeq ${fromSeq}, outline and fromChar ${section.from} lists more`;
      return { ...head, sections: lines, readOn };
    }
  }
  return { ...head, sections: lines, readOn: `recall with fromSeq ${fromSeq} and section reads one` };
}

/** Items of a kind, with as many values as fit; or one, also in parts. */
export async function readItemsOf(
  { store }: Deps,
  session: SessionId,
  state: State,
  { kind = "fact", key, after, fromChar }: RecallRequest,
): Promise<unknown> {
  const read = (seq: number): ReturnType<typeof readSaid> => readSaid(store, session, seq);
  if (key !== undefined) {
    const ref = state.mind.items.get(itemKey(kind, key));
    if (ref === undefined) throw new SkeinError("not-found", `there is no ${kind} "${key}"`);
    const item = await readItem(session, ref, read);
    if (fromChar === undefined && JSON.stringify(item).length <= resultCharsMax) return [item];
    const text = typeof item.value === "string" ? item.value : JSON.stringify(item.value);
    if (fromChar !== undefined && fromChar >= text.length && fromChar > 0)
      throw beyond(ref.seq, fromChar, text.length);
    const { value: _, because, ...rest } = item;
    const why = because !== null && because.length < 100 ? { because } : {};
    return [
      {
        ...rest,
        ...why,
        ...textPage(text, [fromChar ?? 0, text.length], { fromSeq: ref.seq }, itemFieldsCharsMax),
      },
    ];
  }
  const refs = [...state.mind.items.values()].filter((item) => item.kind === kind);
  const found: unknown[] = [];
  const room = makeRoom();
  const rest = refs.filter((item) => after === undefined || item.key > after);
  for (const [place, ref] of rest.entries()) {
    const item = await readItem(session, ref, read);
    const whole = JSON.stringify(item).length <= briefCharsMax;
    const { value: _, because: __, ...named } = item;
    const shown = whole ? item : { ...named, readOn: `recall with kind ${kind} and key reads it` };
    if (room.takes(shown)) found.push(shown);
    else {
      const last = rest[place - 1]?.key ?? "";
      const left = rest.length - place;
      found.push({ readOn: `${left} more: recall with kind ${kind} and after ${quote(last)} lists them` });
      break;
    }
  }
  return found;
}

/** Room of a result for values. */
function makeRoom(): { takes(value: unknown): boolean } {
  let left = resultCharsMax - 800;
  return {
    takes(value) {
      const chars = JSON.stringify(value).length + 1;
      if (chars > left) return false;
      left -= chars;
      return true;
    },
  };
}

interface FoundText {
  readonly text: string;
  /** Of a document. */
  readonly path: string | null;
}

/** What a record says, as text; of a call, what it gave back. */
async function textAt(deps: Deps, session: SessionId, state: State, seq: number): Promise<FoundText> {
  const { store } = deps;
  if (seq > state.seq)
    throw new SkeinError("not-found", `recall: fromSeq: expected at most ${state.seq}, got ${seq}`);
  let event = await eventAt(deps, session, seq);
  if (event?.type === "tool.requested") {
    const types = ["tool.settled"];
    let settled: number | null = null;
    for await (const record of readRecords(store, session, [seq, state.seq], { types })) {
      if (record.cause !== seq) continue;
      settled = record.seq;
      break;
    }
    if (settled === null)
      throw new SkeinError("not-found", `recall: the call at position ${seq} has no outcome yet`);
    event = await eventAt(deps, session, settled);
  }
  if (event === undefined || event.content === undefined)
    throw new SkeinError("not-found", `recall: the content at position ${seq} was erased or never was`);
  const content = event.content as {
    readonly path?: unknown;
    readonly blocks?: readonly { type: string; blob?: string; mediaType?: string }[];
  };
  const whole = event.type === "tool.settled" ? content.blocks?.find(isWholeOutput) : undefined;
  if (whole?.blob !== undefined)
    return { text: (await readBlob(store, whole.blob)).toString("utf8"), path: null };
  const path = event.type === "document.loaded" && typeof content.path === "string" ? content.path : null;
  return { text: textOfContent(content), path };
}

async function eventAt({ store }: Deps, session: SessionId, seq: number): Promise<SessionEvent | undefined> {
  for await (const event of readEvents(store, session, { fromSeq: seq, toSeq: seq })) return event;
  return undefined;
}

/** The text of a content as a reader of it expects: without its JSON, where it is mostly one text. */
function textOfContent(content: unknown): string {
  if (typeof content !== "object" || content === null) return asText(content);
  const { text, output, value, summary, blocks, items } = content as Readonly<Record<string, unknown>>;
  for (const one of [text, summary]) if (typeof one === "string") return one;
  if (output !== undefined) return asText(output);
  if (value !== undefined) return asText(value);
  if (Array.isArray(items)) return carriedText(items as readonly CarriedEntry[]);
  const said = Array.isArray(blocks) ? (blocks as { text?: unknown }[]).map((block) => block.text) : [];
  const texts = said.filter((one) => typeof one === "string");
  return texts.length > 0 && texts.length === said.length ? texts.join("\n") : asText(content);
}

const asText = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value ?? null);

/** The arguments that read a text at a position. */
export const readsText = ({ fromSeq, fromChar, section, outline }: RecallRequest): boolean =>
  fromSeq !== undefined &&
  Object.keys(present({ fromChar, section, outline: outline === true ? true : undefined })).length > 0;
