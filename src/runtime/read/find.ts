/** Finds a session by its id or a unique suffix. */
import { SkeinError, sessionNotFound } from "../../core/error.ts";
import { isSessionName, parseSessionId, quote, type SessionId } from "../../core/ids.ts";
import type { Store } from "../../store/port.ts";

/** Shorter ones are typed by mistake, and some verbs delete. */
export const suffixCharsMin = 4;

export async function findSession(store: Store, idOrEnding: string): Promise<SessionId> {
  if (typeof idOrEnding !== "string")
    throw new SkeinError("invalid", `expected a session id, got ${quote(idOrEnding)}`);
  if (!isSessionName(idOrEnding)) return parseSessionId(idOrEnding);
  if (idOrEnding.length === 30) {
    const id = parseSessionId(idOrEnding);
    if ((await store.head(id)) !== undefined) return id;
    throw sessionNotFound(id);
  }
  const found = await store.endingWith(idOrEnding, 6);
  const [first, second] = found;
  if (first === undefined) {
    throw new SkeinError("not-found", `no session id ends in "${idOrEnding}"`, {
      hint: '"skein ps" lists the sessions',
    });
  }
  if (second === undefined && idOrEnding.length < suffixCharsMin)
    throw new SkeinError(
      "invalid",
      `expected a session id or at least ${suffixCharsMin} characters of its end, got ${quote(idOrEnding)}`,
      { hint: `for example ${first.slice(-6)}` },
    );
  if (second === undefined) return first;
  throw new SkeinError("invalid", `"${idOrEnding}" matches more than one session`, {
    hint: `use a longer suffix: ${found.slice(0, 5).join(", ")}${found.length > 5 ? ", …" : ""}`,
  });
}
