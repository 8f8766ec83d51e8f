/**
 * Ends the streams of a token as soon as it is invalid: when it expires, and when the log says that it was
 * revoked, by any process.
 */
import type { Caller } from "./authorize.ts";
import type { Hub } from "../stream/hub.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";

/** The longest timer. */
const waitMsMax = 2_147_483_647;

/** Until the returned function is called. */
export function endWithToken(who: Caller, hub: Hub, end: () => void): () => void {
  const { store, world, tokens } = internalsOf(who.engine);
  const over = new AbortController();

  const look = (): void =>
    void who.stands().then(
      (stands) => (stands || over.signal.aborted ? null : end()),
      // Without a successful check the stream must end.
      () => (over.signal.aborted ? null : end()),
    );
  /** The cache may be older than the revocation. */
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
    hub.onHeartbeat(look),
    () => over.abort(),
  ];
  if (who.expiresAt !== null) void expiring(who.expiresAt);
  // It may have been revoked after authentication, and before the subscription.
  lookAnew();
  return () => {
    for (const stop of stops) stop();
  };
}
