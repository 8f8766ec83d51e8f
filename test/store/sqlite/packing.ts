/** A store in which everything that may be packed is packed at once: whoever reads must not notice. */
import type { LogId } from "../../../src/core/ids.ts";
import type { Store } from "../../../src/store/port.ts";

export function packingStore(inner: Store): Store {
  const packed = async (...sessions: readonly LogId[]): Promise<void> => {
    for (const session of sessions) await inner.pack(session, Number.MAX_SAFE_INTEGER);
  };
  return {
    ...inner,
    async append(parts) {
      const outcome = await inner.append(parts);
      if (outcome.kind === "ok") await packed(...parts.map(({ session }) => session));
      return outcome;
    },
    async finish(logs) {
      await inner.finish(logs);
      await packed(...logs.map(({ session }) => session));
    },
  };
}
