/** The invalid parts of a filter, as text, so that the list is not taken for filtered by them. */
import { statuses } from "../../../protocol/library.ts";
import { brief } from "../../ui/visible.ts";
import { labelsOf, sorts } from "./filter.ts";

const piecesOf = (text: string): readonly string[] => text.split(",").filter((piece) => piece.trim() !== "");
const named = (pieces: readonly string[]): string =>
  pieces.map((piece) => `“${brief(piece, 40)}”`).join(", ");

/** The invalid part of a label filter; null if there is none. */
export function labelTrouble(text: string): string | null {
  const strays = piecesOf(text).filter((piece) => Object.keys(labelsOf(piece)).length === 0);
  return strays.length === 0 ? null : `labels: expected label=value, got ${named(strays)}.`;
}

/** The invalid parts of a URL. */
export function leftOut(params: URLSearchParams): readonly string[] {
  const known: readonly string[] = statuses;
  const strays = piecesOf(params.get("status") ?? "").filter((piece) => !known.includes(piece));
  const sort = params.get("sort") ?? "";
  const waits = params.get("waits") ?? "";
  return [
    strays.length === 0 ? null : `status: expected one of ${statuses.join(", ")}, got ${named(strays)}.`,
    labelTrouble(params.get("label") ?? ""),
    ["", ...sorts].includes(sort) ? null : `sort: expected one of ${sorts.join(", ")}, got ${named([sort])}.`,
    ["", "person"].includes(waits) ? null : `waits: expected person, got ${named([waits])}.`,
  ].filter((words) => words !== null);
}
