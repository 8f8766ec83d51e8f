/**
 * The redactor: removes registered secrets, and values that look like secrets, from texts and JSON before
 * they are stored. Pure, linear in the length of the text, and idempotent.
 *
 * A text is read once, four letters at a time. Only where those begin a form of a registered value, or are an
 * anchor of a look, is anything else compared; so most texts cost a single pass.
 */
import { SkeinError } from "../error.ts";
import { quote } from "../ids.ts";
import { limit } from "../limit.ts";
import { formsOf, type EncodedForm } from "./encoding.ts";
import { readingsOf } from "./decoding.ts";
import { placesInJson, type JsonPlace } from "./json-places.ts";
import {
  holdsValue,
  isFieldValue,
  isListedValue,
  looks,
  secretField,
  type SecretPattern,
  type SecretSpan,
} from "./pattern.ts";

/** A secret in a text. */
export interface SecretPlace extends SecretSpan {
  /** Registered, not detected by its looks. */
  readonly registered: boolean;
}

export interface Redactor {
  /** Registers a value: from now on it is removed everywhere. A second registration changes nothing. */
  register(name: string, value: string): void;
  /** The text without secrets; the same object if it holds none. */
  text(text: string): string;
  /** The same for every text in a JSON value, and for fields with secret names. */
  json<T>(value: T): T;
  /** The same for the JSON text of a value. */
  jsonText(text: string): string;
  /** The secrets of a text, in order, without overlaps. */
  find(text: string): readonly SecretPlace[];
  /**
   * Whether a text, JSON or plain, may hold a secret. Cheap; false is certain. `bytes`: the same text, one
   * byte for each character, where the caller has it.
   */
  suspects(text: string, bytes?: Uint8Array): boolean;
  /** The secrets of a text that is JSON or plain, as ranges of it. */
  places(text: string): readonly JsonPlace[];
  /** The name of a registered value in the text; null if there is none. */
  registeredIn(text: string): string | null;
  /**
   * The same for values that are recognizable by themselves: by their prefix, not by the text before them.
   */
  sureIn(text: string): string | null;
}

export interface RedactorOptions {
  /** Whether values that look like secrets are removed too. Default: true. */
  readonly looksLike?: boolean;
  /** Structural words. A text that equals one of them stays. */
  readonly keep?: () => ReadonlySet<string>;
}

/** The replacement of a secret. */
export const marker = (name: string): string => `[redacted: ${name}]`;

/** Whether a value is long enough to search for, and distinguishable from its replacement. */
export const mayRegister = (name: string, value: string): boolean =>
  complaintAbout(name, value) === undefined;

function complaintAbout(name: string, value: unknown): string | undefined {
  if (!/^[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,99}$/.test(name)) {
    return "name: expected 1 to 100 letters, digits and _ . : / -";
  }
  if (typeof value !== "string" || !value.isWellFormed()) return "value: expected a string";
  const { length } = value.trim();
  if (length < limit.secretCharsMin)
    return `value: expected at least ${limit.secretCharsMin} characters, got ${length}`;
  if (length > secretCharsMax) return `value: expected at most ${secretCharsMax} characters, got ${length}`;
  return marker(name).includes(value.trim()) ? "name: contains the value" : undefined;
}

const secretCharsMax = 16_384;
const passesMax = 10;

interface KnownSecret extends EncodedForm {
  readonly name: string;
}

export function makeRedactor(options: RedactorOptions = {}): Redactor {
  const { looksLike = true, keep = () => new Set<string>() } = options;
  const names = new Map<string, string>();
  const grams = new Grams();
  if (looksLike) {
    for (const look of looks) for (const anchor of look.anchors) grams.addAnchor(anchor, look);
  }

  function find(text: string): readonly SecretPlace[] {
    const places = [...findIn(grams, text, "all"), ...findEncoded(grams, text)];
    return places.length < 2 ? places : merged(places);
  }

  function once(text: string): string {
    const places = find(text);
    if (places.length === 0 || keep().has(text)) return text;
    let redacted = "";
    let from = 0;
    for (const { start, end, name } of places) {
      redacted += text.slice(from, start) + marker(name);
      from = end;
    }
    return redacted + text.slice(from);
  }

  /** Repeats until nothing is left: the text after a removed secret may look like a secret only now. */
  function redact(text: string): string {
    let redacted = text;
    for (let count = 0; count < passesMax; count++) {
      const next = once(redacted);
      if (next === redacted) break;
      redacted = next;
    }
    return redacted;
  }

  /** For escaped text: whether it is worth parsing. */
  const suspects = (text: string, bytes?: Uint8Array): boolean =>
    grams.each(
      text,
      (entry, at) => (isKnown(entry) ? text.startsWith(entry.text, at) : (entry.may?.(text, at) ?? true)),
      bytes,
    ) || findEncoded(grams, text).length > 0;

  return {
    register(name, given) {
      const complaint = complaintAbout(name, given);
      if (complaint !== undefined) {
        throw new SkeinError("invalid", `secret ${quote(name)}: ${complaint}`, {
          hint: "use the name of its environment variable; short values would match ordinary text",
        });
      }
      const value = given.trim();
      if (names.has(value)) return;
      if (names.size >= limit.secretsMax) {
        throw new SkeinError("invalid", `secrets: at most ${limit.secretsMax} values can be registered`);
      }
      names.set(value, name);
      for (const form of formsOf(value)) grams.addKnown({ ...form, name });
    },
    text: redact,
    json(value) {
      try {
        return walk(value, { each: redact, byField: looksLike }) as typeof value;
      } catch (error) {
        // It cannot be stored as it is, and the write reports that.
        if (error instanceof TooDeep) return value;
        throw error;
      }
    },
    jsonText(text) {
      if (!suspects(text)) return text;
      const value: unknown = JSON.parse(text);
      const clean = walk(value, { each: redact, byField: looksLike });
      return clean === value ? text : JSON.stringify(clean);
    },
    find,
    suspects,
    places(text) {
      if (!suspects(text)) return [];
      const stays = (one: string) => keep().has(one);
      const search = { find: (one: string) => (stays(one) ? [] : find(one)), byField: looksLike };
      return isJson(text) ? placesInJson(text, search) : find(text);
    },
    registeredIn: (text) => (findIn(grams, text, "known")[0] ?? findEncoded(grams, text)[0])?.name ?? null,
    sureIn: (text) => findIn(grams, text, "sure")[0]?.name ?? null,
  };
}

/** Deeper values are redacted as plain texts. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const isKnown = (entry: KnownSecret | SecretPattern): entry is KnownSecret => "text" in entry;

/** Registered values in the decoded readings of a text, including overlaps. */
function findEncoded(grams: Grams, text: string): readonly SecretPlace[] {
  if (!grams.hasKnown) return [];
  return readingsOf(text, grams.hasSpaces).flatMap(({ text: read, start, end, stops }) =>
    findIn(grams, read, "known", stops).map((found) => ({
      ...found,
      start: start(found.start),
      end: end(found.end),
    })),
  );
}

function findIn(
  grams: Grams,
  text: string,
  which: "all" | "known" | "sure",
  stops: ReadonlySet<number> = nowhere,
): readonly SecretPlace[] {
  const places: SecretPlace[] = [];
  if (which === "known" && !grams.hasKnown) return places;
  let reach = 0;
  let guessed = 0;
  grams.each(text, (entry, at) => {
    if (isKnown(entry)) {
      if (which === "sure" || entry.jsonOnly === true || !text.startsWith(entry.text, at)) return false;
      const place = wholeOf(text, entry, at, { reach, stops });
      if (entry.around !== undefined) reach = Math.max(reach, place.end);
      places.push(place);
    } else if ((which === "all" || (which === "sure" && entry.sure === true)) && at >= guessed) {
      const place = entry.find(text, at);
      if (place === null) return false;
      guessed = place.end;
      places.push({ ...place, registered: false });
    }
    return false;
  });
  return places;
}

const nowhere: ReadonlySet<number> = new Set();

/**
 * A form with the adjacent characters of its alphabet, unless they are already included; beyond a stop only
 * where they carry a part of the value.
 */
function wholeOf(
  text: string,
  { text: form, around, edges, name }: KnownSecret,
  at: number,
  { reach, stops }: { readonly reach: number; readonly stops: ReadonlySet<number> },
): SecretPlace {
  const last = at + form.length;
  let [start, end] = [at, last];
  if (around !== undefined && end > reach) {
    const goesBack = (): boolean => (start === at && edges?.before === true) || !stops.has(start);
    const goesOn = (): boolean => (end === last && edges?.after === true) || !stops.has(end);
    while (start > 0 && around.test(text[start - 1] ?? "") && goesBack()) start--;
    while (end < text.length && around.test(text[end] ?? "") && goesOn()) end++;
  }
  return { start, end, name, registered: true };
}

/** In order, with overlaps merged: under a registered name if one of them has it. */
function merged(places: readonly SecretPlace[]): readonly SecretPlace[] {
  const all: SecretPlace[] = [];
  for (const place of places.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const last = all.at(-1);
    if (last === undefined || place.start >= last.end) {
      all.push(place);
      continue;
    }
    const named = last.registered || !place.registered ? last : place;
    all[all.length - 1] = { ...named, start: last.start, end: Math.max(last.end, place.end) };
  }
  return all;
}

const gramChars = 4;
const tableBits = 16;

/** Letters in lower case; of non-ASCII letters, the lowest eight bits. */
const folded = Uint8Array.from({ length: 256 }, (_, code) => (code >= 65 && code <= 90 ? code + 32 : code));
const alphanumeric = "abcdefghijklmnopqrstuvwxyz0123456789".split("");

/** Forms and looks, indexed by their first four letters, case-insensitive. */
class Grams {
  /** Which sequences of three letters occur in them, by slot. */
  readonly #table = new Uint8Array(2 ** tableBits);
  readonly #entries = new Map<number, (KnownSecret | SecretPattern)[]>();
  /** Whether any value is registered, and any with a space. */
  hasKnown = false;
  hasSpaces = false;

  addKnown(known: KnownSecret): void {
    this.hasKnown = true;
    this.hasSpaces ||= known.text.includes(" ");
    this.#add(known.text, known);
  }

  /** An anchor in which `?` stands for any letter or digit. */
  addAnchor(anchor: string, look: SecretPattern): void {
    if (!anchor.includes("?")) return this.#add(anchor, look);
    for (const char of alphanumeric) this.#add(anchor.replace("?", char), look);
  }

  #add(text: string, entry: KnownSecret | SecretPattern): void {
    let gram = 0;
    for (let at = 0; at < gramChars; at++) gram = next(gram, text.charCodeAt(at));
    this.#table[slot(gram >>> 8)] = 1;
    this.#table[slot(gram & 0xffffff)] = 1;
    const there = this.#entries.get(gram);
    if (there === undefined) this.#entries.set(gram, [entry]);
    else there.push(entry);
  }

  /**
   * Calls back with each entry that may begin at a position, until a callback returns true. Of four letters
   * in a row the first three or the last three begin at an even position: only those are looked up. `given`
   * is the text as bytes, one for each character. A callback must not search another text.
   */
  each(
    text: string,
    call: (entry: KnownSecret | SecretPattern, at: number) => boolean,
    given: Uint8Array | null = null,
  ): boolean {
    const bytes = given ?? (isAscii(text) ? scratch : null);
    const nextAt = (from: number): number =>
      bytes === null
        ? nextInText(this.#table, text, from)
        : nextInBytes(this.#table, bytes, from, text.length);
    for (let at = nextAt(0); at >= 0; at = nextAt(at + 2)) {
      if (this.#begins(text, at - 1, call) || this.#begins(text, at, call)) return true;
    }
    return false;
  }

  #begins(
    text: string,
    start: number,
    call: (entry: KnownSecret | SecretPattern, at: number) => boolean,
  ): boolean {
    if (start < 0 || start + gramChars > text.length) return false;
    let gram = 0;
    for (let at = 0; at < gramChars; at++) gram = next(gram, text.charCodeAt(start + at));
    for (const entry of this.#entries.get(gram) ?? none) if (call(entry, start)) return true;
    return false;
  }
}

const encoder = new TextEncoder();
const scratch = new Uint8Array(65_536);

/** Whether it is short ASCII: then it is in `scratch`, until the next call. */
function isAscii(text: string): boolean {
  if (text.length > scratch.length) return false;
  const { read, written } = encoder.encodeInto(text, scratch);
  return read === text.length && written === text.length;
}

/** The next even position with three known letters; -1 if there is none. */
function nextInText(table: Uint8Array, text: string, from: number): number {
  const last = text.length - 2;
  for (let at = from; at < last; at += 2) {
    const first = next(0, text.charCodeAt(at));
    const three = next(next(first, text.charCodeAt(at + 1)), text.charCodeAt(at + 2));
    if (table[slot(three)] !== 0) return at;
  }
  return -1;
}

/** The same for bytes: reading those takes half as long. */
function nextInBytes(table: Uint8Array, bytes: Uint8Array, from: number, length: number): number {
  const last = length - 2;
  for (let at = from; at < last; at += 2) {
    const three = next(next(next(0, bytes[at] ?? 0), bytes[at + 1] ?? 0), bytes[at + 2] ?? 0);
    if (table[slot(three)] !== 0) return at;
  }
  return -1;
}

const none: readonly (KnownSecret | SecretPattern)[] = [];
const next = (gram: number, code: number): number => (gram << 8) | (folded[code & 255] ?? 0);
const slot = (three: number): number => Math.imul(three, 0x9e3779b1) >>> (32 - tableBits);

class TooDeep extends Error {}

interface WalkOptions {
  readonly each: (text: string) => string;
  /** Whether field names decide what is secret. */
  readonly byField: boolean;
}

/**
 * Visits every text of a JSON value; returns the same object if none changes. `kind` is what the name of the
 * enclosing field says it holds, if the value is that itself.
 */
function walk(value: unknown, walking: WalkOptions, kind: string | null = null, depth = 0): unknown {
  const { each, byField } = walking;
  if (typeof value === "string") return kind === null ? each(value) : fieldText(kind, value, each);
  if (typeof value === "number") return kind !== null && isFieldValue(`${value}`) ? marker(kind) : value;
  if (typeof value !== "object" || value === null) return value;
  if (depth > limit.jsonDepthMax) throw new TooDeep();
  if (Array.isArray(value)) {
    const list = value.map((one: unknown) => {
      const isWord = typeof one === "string" && !isListedValue(one);
      return walk(one, walking, isWord ? null : kind, depth + 1);
    });
    return list.every((one, place) => one === value[place]) ? value : list;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  let changed = false;
  const fields = Object.entries(value).map(([field, one]): [string, unknown] => {
    const own = byField ? secretField(field) : null;
    const clean = walk(one, walking, own ?? (holdsValue(field) ? kind : null), depth + 1);
    const named = each(field);
    changed ||= clean !== one || named !== field;
    return [named, clean];
  });
  return changed ? distinct(fields) : value;
}

/** The value of a field with a secret name is removed as a whole. */
function fieldText(kind: string, text: string, each: (text: string) => string): string {
  if (kind === "authorization") {
    const [, scheme, token] = /^(\w{1,20}[ \t]+)?(\S{6,4096})$/.exec(text) ?? [];
    return token === undefined || !isFieldValue(token) ? each(text) : `${scheme ?? ""}${marker(kind)}`;
  }
  const clean = each(text);
  return clean !== text || !isFieldValue(text) ? clean : marker(kind);
}

/** Redacted field names may collide: they get numbers. */
function distinct(fields: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  const object = new Map<string, unknown>();
  for (const [field, value] of fields) {
    let name = field;
    for (let count = 2; object.has(name); count++) name = `${field} ${count}`;
    object.set(name, value);
  }
  return Object.fromEntries(object);
}
