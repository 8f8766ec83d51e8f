/**
 * Ends what somebody began with a token as soon as it holds no more: at the moment it expires, and when the
 * log says that it was revoked, wherever that was done.
 */
import type { Authorized } from "./authorize.ts";
import type { Hub } from "../stream/hub.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";

/** No timer waits for longer. */
const waitMsMax = 2_147_483_647;

/** Until the function that comes back is called. */
export function endWithToken(who: Authorized, hub: Hub, end: () => void): () => void {
  const { store, world, tokens } = internalsOf(who.engine);
  const over = new AbortController();

  const look = (): void =>
    void who.stands().then(
      (stands) => (stands || over.signal.aborted ? null : end()),
      // Who cannot be looked up now may not read on.
      () => (over.signal.aborted ? null : end()),
    );
  /** What is at hand may be older than what was revoked. */
  const lookAnew = (): void => void tokens.fold().then(look, () => undefined);

  async function expiring(expiresAt: number): Promise<void> {
    for (;;) {
      const leftMs = expiresAt - world.now();
      if (leftMs <= 0) return over.signal.aborted ? undefined : end();
      await world.sleep(Math.min(leftMs, waitMsMax), over.signal);
      if (over.signal.aborted) return;
    }
  }

  const stops = [
    hub.listen(store.workspace, {
      heard({ type, body }) {
        const isIt = type === "token.revoked" && (body as { readonly id?: string }).id === who.token;
        if (isIt) end();
      },
      behind: lookAnew,
    }),
    hub.beat(look),
    () => over.abort(),
  ];
  if (who.expiresAt !== null) void expiring(who.expiresAt);
  // It may have been revoked since it was let in, and before anybody listened.
  lookAnew();
  return () => {
    for (const stop of stops) stop();
  };
}
