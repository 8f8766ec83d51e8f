/** The server of this page, as an engine. */
import { engineAt, type RemoteEngine, type RemoteSession } from "../client/connect.ts";
import { trackedFetch } from "./connection.ts";

export const engine: RemoteEngine = engineAt(location.origin, { fetch: trackedFetch });

const sessions = new Map<string, Promise<RemoteSession>>();

/** A handle, cached per id or suffix. One that was not found is looked up again. */
export function sessionOf(idOrEnding: string): Promise<RemoteSession> {
  const known = sessions.get(idOrEnding);
  if (known !== undefined) return known;
  const found = engine.session(idOrEnding);
  sessions.set(idOrEnding, found);
  found.catch(() => sessions.delete(idOrEnding));
  return found;
}
