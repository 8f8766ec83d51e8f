/**
 * Checks as causes, for sources that cannot notify: a command, a URL or a query runs at intervals, and fires
 * when its result differs from the one it fired with last. A check costs no model call.
 */
import type { Binding } from "../../core/tool/commands.ts";
import { SkeinError } from "../../core/error.ts";
import { limit } from "../../core/limit.ts";
import { errorText } from "../../core/first-error.ts";
import type { StoredBinding } from "../../tool/port.ts";
import { prepareOpening } from "../branch/bootstrap.ts";
import type { Deps } from "../deps.ts";
import { checkAddress } from "./address.ts";
import { checkName, checkQuery, runCheck, type QuerySpec } from "./check.ts";
import { everySpread } from "./staggered-timer.ts";
import type { Source, TriggerWatch } from "./source.ts";
import { readBindings } from "../read/bindings.ts";
import { stateNow } from "../read/state-now.ts";

export const querySource: Source = {
  kinds: ["query"],
  /** Later results are compared with the current one. */
  async prepare(deps, { spec: given, bindings }) {
    const spec = checkQuery(given as QuerySpec);
    if (spec.url !== undefined) checkAddress(spec.url);
    const signal = new AbortController().signal;
    const { digest } = await runCheck(deps, spec, bindings.map(boundAs), signal).catch((error: unknown) => {
      if (error instanceof SkeinError && error.code === "invalid") throw error;
      const hint = error instanceof SkeinError ? error.hint : undefined;
      throw new SkeinError("invalid", `the check fails: ${wordsOf(error)}`, { hint, cause: error });
    });
    return { spec, digest };
  },
  async watch(deps, watch, { fire, trouble, signal }) {
    const spec = watch.spec as QuerySpec;
    const over = new AbortController();
    const ends = AbortSignal.any([signal, over.signal]);
    const bindings = bindingsFor(deps, watch);
    let { lastCause: was } = watch;
    let isTold = false;
    const look = async (): Promise<void> => {
      try {
        const { digest, text: output } = await runCheck(deps, spec, await bindings(), ends);
        isTold = false;
        if (digest === was) return;
        const text = `Trigger "${watch.name}": the ${checkName(spec)} gives another result.\n\n${output}`;
        const now = await fire({ digest, was, text });
        if (now === undefined) over.abort();
        else was = now;
      } catch (error) {
        if (ends.aborted || isTold) return;
        isTold = true;
        trouble(`trigger "${watch.name}": the check fails: ${wordsOf(error)}`);
      }
    };
    const key = `${watch.session ?? "template"}/${watch.name}`;
    await everySpread(deps, { key, everyMs: spec.everyMs, signal: ends }, look);
  },
};

const wordsOf = (error: unknown): string => errorText(error).slice(0, limit.reasonCharsMax);

const boundAs = (binding: Binding): StoredBinding => ({
  ...binding,
  name: binding.name ?? binding.path ?? binding.url ?? binding.kind,
  mode: binding.mode ?? "read",
});

/** A session's bindings at the time of each check; a template's as it was set. */
function bindingsFor(deps: Deps, { session, name }: TriggerWatch): () => Promise<readonly StoredBinding[]> {
  if (session !== null) return async () => readBindings(deps, session, await stateNow(deps, session));
  let made: Promise<readonly StoredBinding[]> | null = null;
  return () => {
    made ??= ofTemplate(deps, name);
    return made;
  };
}

async function ofTemplate(deps: Deps, name: string): Promise<readonly StoredBinding[]> {
  const { foldedTemplates, withContent } = await import("./templates.ts");
  const ref = (await foldedTemplates(deps)).refs.get(name);
  const open = ref === undefined ? null : (await withContent(deps, ref)).open;
  const { bind = [] } = open === null ? {} : await prepareOpening(deps, open);
  return bind.map(boundAs);
}
