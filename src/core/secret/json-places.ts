/**
 * Secrets in the text of a JSON value, as ranges of that text: the same ones that the redactor removes from
 * the value itself. The text must parse.
 */
import { isFieldValue, isListedValue, holdsValue, secretField, type SecretSpan } from "./pattern.ts";

/** A range of the text. A number is replaced as a whole, so that its replacement needs quotes. */
export interface JsonPlace extends SecretSpan {
  readonly isNumber?: boolean;
}

interface Search {
  /** The secrets of a decoded text. */
  find(text: string): readonly SecretSpan[];
  /** Whether field names decide what is secret. */
  readonly byField: boolean;
}

interface Container {
  readonly isObject: boolean;
  /** The kind of secret that the name of the enclosing field says it holds. */
  readonly kind: string | null;
}

const quoteCode = 0x22;

export function placesInJson(json: string, search: Search): readonly JsonPlace[] {
  const places: JsonPlace[] = [];
  const open: Container[] = [];
  let isKey = false;
  let field: string | null = null;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    const container = open.at(-1);
    const kind = container?.isObject === true ? field : (container?.kind ?? null);
    if (code === quoteCode) {
      const end = stringEnd(json, at + 1);
      const raw = json.slice(at + 1, end);
      const text = raw.includes("\\") ? (JSON.parse(`"${raw}"`) as string) : raw;
      const found = isKey ? search.find(text) : valuePlaces(text, kindHere(container, kind, text), search);
      if (found.length > 0) places.push(...rawPlaces(found, raw, at + 1));
      if (isKey) field = kindOfField(text, container?.kind ?? null, search);
      at = end;
    } else if (code === 0x7b || code === 0x5b) {
      open.push({ isObject: code === 0x7b, kind });
      isKey = code === 0x7b;
    } else if (code === 0x7d || code === 0x5d) {
      open.pop();
      isKey = false;
    } else if (code === 0x2c) {
      isKey = container?.isObject === true;
    } else if (code === 0x3a) {
      isKey = false;
    } else if (isNumberStart(code)) {
      const end = numberEnd(json, at);
      if (kind !== null && isFieldValue(`${Number(json.slice(at, end))}`))
        places.push({ start: at, end, name: kind, isNumber: true });
      at = end - 1;
    }
  }
  return places;
}

const kindOfField = (name: string, above: string | null, { byField }: Search): string | null =>
  (byField ? secretField(name) : null) ?? (holdsValue(name) ? above : null);

/** Words in a list after a secret name are rules and settings. */
const kindHere = (container: Container | undefined, kind: string | null, text: string): string | null =>
  container?.isObject === false && !isListedValue(text) ? null : kind;

/** The value of a field with a secret name is a secret as a whole. */
function valuePlaces(text: string, kind: string | null, { find }: Search): readonly SecretSpan[] {
  if (kind === "authorization") {
    const [, scheme = "", token] = /^(\w{1,20}[ \t]+)?(\S{6,4096})$/.exec(text) ?? [];
    if (token !== undefined && isFieldValue(token))
      return [{ start: scheme.length, end: text.length, name: kind }];
    return find(text);
  }
  const found = find(text);
  return found.length > 0 || kind === null || !isFieldValue(text)
    ? found
    : [{ start: 0, end: text.length, name: kind }];
}

/** The closing quote of a string that begins at `from`. */
function stringEnd(json: string, from: number): number {
  for (let end = json.indexOf('"', from); end !== -1; end = json.indexOf('"', end + 1)) {
    let slashes = 0;
    while (json.charCodeAt(end - 1 - slashes) === 0x5c) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return json.length;
}

const isNumberStart = (code: number): boolean => code === 0x2d || (code >= 0x30 && code <= 0x39);

function numberEnd(json: string, from: number): number {
  let end = from + 1;
  while (/[0-9.eE+-]/.test(json[end] ?? "")) end += 1;
  return end;
}

/** Places of the decoded text as ranges of its escaped form, which begins at `from`. */
function rawPlaces(found: readonly SecretSpan[], raw: string, from: number): readonly SecretSpan[] {
  if (!raw.includes("\\")) {
    return found.map(({ start, end, name }) => ({ start: from + start, end: from + end, name }));
  }
  const starts: number[] = [];
  for (let at = 0; at < raw.length; at += raw[at] !== "\\" ? 1 : raw[at + 1] === "u" ? 6 : 2) starts.push(at);
  const rawAt = (place: number): number => from + (starts[place] ?? raw.length);
  return found.map(({ start, end, name }) => ({ start: rawAt(start), end: rawAt(end), name }));
}
