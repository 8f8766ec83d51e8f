/** The title of a session in lists: short, and without loading what reading its log needs. */
import { shortId } from "../../core/text/short-id.ts";
import { oneLine } from "./text.ts";

/** Its name, or else its objective. A fork without either is named after its parent. */
export function titleOf(session: {
  readonly name: string | null;
  readonly objective: string | null;
  readonly fork: { readonly parent: string; readonly seq: number } | null;
}): string {
  const { name, objective, fork } = session;
  if (name !== null || objective !== null) return oneLine(name ?? objective ?? "");
  return fork === null ? "(erased)" : `fork of ${shortId(fork.parent)} at ${fork.seq}`;
}
