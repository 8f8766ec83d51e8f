/** Finds a session by its id or a unique suffix. */
import { SkeinError } from "../../core/error.ts";
import { isSessionName, parseSessionId, quote, type SessionId } from "../../core/ids.ts";
import type { Store } from "../../store/port.ts";

export async function findSession(store: Store, idOrEnding: string): Promise<SessionId> {
  if (typeof idOrEnding !== "string")
    throw new SkeinError("invalid", `not a session id: ${quote(idOrEnding)}`);
  if (!isSessionName(idOrEnding)) return parseSessionId(idOrEnding);
  if (idOrEnding.length === 30) {
    const id = parseSessionId(idOrEnding);
    if ((await store.head(id)) !== undefined) return id;
    throw new SkeinError("not-found", `there is no session ${id}`, {
      hint: '"skein ps" lists what there is',
    });
  }
  const found = await store.endingWith(idOrEnding, 6);
  const [first, second] = found;
  if (first === undefined) {
    throw new SkeinError("not-found", `no session ends in "${idOrEnding}"`, {
      hint: '"skein ps" lists what there is',
    });
  }
  if (second === undefined) return first;
  throw new SkeinError("invalid", `"${idOrEnding}" is the ending of more than one session`, {
    hint: `give more of it: ${found.slice(0, 5).join(", ")}${found.length > 5 ? ", …" : ""}`,
  });
}
