/** Exact replacement of a text, and a check afterwards whether it happened. Pure. */
import { SkeinError } from "../core/error.ts";

export interface Edit {
  readonly find: string;
  readonly replace: string;
  readonly all: boolean;
}

/** The text after the edit. Refuses a text that is missing or ambiguous, and an edit that changes nothing. */
export function applyEdit(
  text: string,
  edit: Edit,
  shown: string,
): { readonly result: string; readonly count: number; readonly line: number } {
  const { find, replace } = fitted(text, edit);
  if (find === replace) throw new SkeinError("invalid", "edit: find and replace are identical");
  const places = placesOf(text, find);
  const first = places[0];
  if (first === undefined) {
    throw new SkeinError(
      "invalid",
      `edit: find: not found in ${shown}; read it again and copy the text exactly`,
    );
  }
  if (places.length > 1 && !edit.all) {
    const lines = places.slice(0, 10).map((at) => lineOf(text, at));
    throw new SkeinError(
      "invalid",
      `edit: find: ${places.length} matches in ${shown} (lines ${lines.join(", ")}` +
        `${places.length > 10 ? ", …" : ""}); add surrounding text, or set all`,
    );
  }
  const result = text.split(find).join(replace);
  return { result, count: places.length, line: lineOf(text, first) };
}

/**
 * Whether the edit of an interrupted call has happened, by the current file. Done: the old text is gone and
 * the new one is there, from any writer. Not done: the old text is there, as often as required, and the new
 * one is not, so the edit can still be made. Anything else, such as a new text that contains the old one, is
 * inconclusive.
 */
export function edited(text: string, edit: Edit): "done" | "not done" | "unknown" {
  const { find, replace } = fitted(text, edit);
  if (replace === "") return "unknown";
  const count = placesOf(text, find).length;
  const isThere = text.includes(replace);
  if (count === 0 && isThere) return "done";
  return (count === 1 || (count > 1 && edit.all)) && !isThere ? "not done" : "unknown";
}

/** Models may use other line ends. If the file has only the other kind, that kind is meant. */
function fitted(text: string, edit: Edit): Edit {
  const isCrlf = text.includes("\r\n") && !/(^|[^\r])\n/.test(text);
  if (!isCrlf || edit.find.includes("\r")) return edit;
  const fit = (part: string) => part.replaceAll(/\r?\n/g, "\r\n");
  return { ...edit, find: fit(edit.find), replace: fit(edit.replace) };
}

function placesOf(text: string, find: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(find); at !== -1; at = text.indexOf(find, at + find.length)) places.push(at);
  return places;
}

const lineOf = (text: string, at: number): number => text.slice(0, at).split("\n").length;
