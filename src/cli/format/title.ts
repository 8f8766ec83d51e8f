/** How a session is called in lists: short, and without loading what reading its log takes. */
import { shortId } from "../../core/text/short-id.ts";
import { oneLine } from "./text.ts";

/** Its name, or else its objective. A fork that was given neither goes by where it comes from. */
export function titleOf(session: {
  readonly name: string | null;
  readonly objective: string | null;
  readonly fork: { readonly parent: string; readonly seq: number } | null;
}): string {
  const { name, objective, fork } = session;
  if (name !== null || objective !== null) return oneLine(name ?? objective ?? "");
  return fork === null ? "(erased)" : `fork of ${shortId(fork.parent)} at ${fork.seq}`;
}
