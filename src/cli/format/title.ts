/** How a session is called in lists: short, and without loading what reading its log takes. */
import { oneLine } from "./text.ts";

/** The last characters of an id: enough to tell sessions apart, and to be typed. */
export const ending = (id: string): string => id.slice(-8);

/** Its name, or else its objective. A fork that was given neither goes by where it comes from. */
export function titleOf(session: {
  readonly name: string | null;
  readonly objective: string | null;
  readonly fork: { readonly parent: string; readonly seq: number } | null;
}): string {
  const { name, objective, fork } = session;
  if (name !== null || objective !== null) return oneLine(name ?? objective ?? "");
  return fork === null ? "(erased)" : `fork of ${ending(fork.parent)} at ${fork.seq}`;
}
