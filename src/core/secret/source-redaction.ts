/**
 * Redaction of a source text that stays readable as what it was: JSON remains JSON, and each secret is known
 * by its range in the text as it came.
 */
import { marker, type Redactor } from "./redactor.ts";
import type { JsonPlace } from "./json-places.ts";

export interface RedactedSource {
  readonly text: string;
  /** In order, without overlaps, as ranges of the text as it came. */
  readonly places: readonly JsonPlace[];
}

const passesMax = 10;

export function redactSource(redactor: Redactor, text: string): RedactedSource {
  let places: readonly JsonPlace[] = [];
  let clean = text;
  // The text after a removed secret may look like a secret only now.
  for (let count = 0; count < passesMax; count++) {
    const found = redactor.places(clean);
    if (found.length === 0) break;
    const before = places;
    places = merged([...before, ...found.map((place) => inSource(place, before))]);
    clean = replaced(text, places);
  }
  return { text: clean, places };
}

const replacement = ({ name, isNumber }: JsonPlace): string =>
  isNumber === true ? `"${marker(name)}"` : marker(name);

function replaced(text: string, places: readonly JsonPlace[]): string {
  let clean = "";
  let from = 0;
  for (const place of places) {
    clean += text.slice(from, place.start) + replacement(place);
    from = place.end;
  }
  return clean + text.slice(from);
}

/** A range of the redacted text as one of the source; one that touches a replacement covers its secret. */
function inSource(place: JsonPlace, places: readonly JsonPlace[]): JsonPlace {
  let shift = 0;
  let { start, end } = place;
  let [from, to] = [-1, -1];
  for (const earlier of places) {
    const begin = earlier.start + shift;
    const over = begin + replacement(earlier).length;
    if (from === -1 && start < over) from = Math.min(start - shift, earlier.start);
    if (to === -1 && end <= begin) to = end - shift;
    else if (to === -1 && end <= over) to = earlier.end;
    shift = over - earlier.end;
  }
  if (from === -1) from = start - shift;
  if (to === -1) to = end - shift;
  return { ...place, start: from, end: to };
}

function merged(places: readonly JsonPlace[]): readonly JsonPlace[] {
  const all: JsonPlace[] = [];
  for (const place of places.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const last = all.at(-1);
    if (last === undefined || place.start >= last.end) all.push(place);
    else all[all.length - 1] = { ...last, end: Math.max(last.end, place.end) };
  }
  return all;
}
