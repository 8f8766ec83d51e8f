/** The accept checks that a session begins with: those it is given, or those of the session it continues. */
import { isWorker } from "../../core/check/decide.ts";
import type { NamedCheck } from "../../core/check/check.ts";
import type { DigestedCheck } from "../../core/check/commands.ts";
import { parseChecks } from "../../core/check/text.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import type { Store } from "../../store/port.ts";
import type { Deps } from "../deps.ts";
import { checkMeant } from "../log/redact.ts";
import { readContent } from "../read/content.ts";

/** Names the checks and digests them. Only a person, with the scope operate, may set any. */
export function prepareChecks(deps: Deps, given: readonly unknown[], what: string): DigestedCheck[] {
  const { world, need, actor } = deps;
  need?.("operate", "setting accept checks");
  if (isWorker(actor))
    throw new SkeinError("refused", `${what}: ${actor} cannot set the checks of a session`, {
      hint: "a person sets them",
    });
  const checks = parseChecks(given, what);
  checkMeant(world.redactor, what, checks);
  return checks.map((check) => ({ ...check, digest: world.digest("", JSON.stringify(check)) }));
}

/** The checks of a session, with their definitions. Null when those were erased. */
export async function readChecks(
  store: Store,
  session: SessionId,
  { standing: { checks } }: State,
): Promise<ReadonlyMap<string, NamedCheck> | null> {
  const [first] = checks.values();
  if (first === undefined) return new Map();
  const content = await readContent(store, session, first.seq);
  const { checks: list } = (content ?? {}) as { readonly checks?: readonly NamedCheck[] };
  return list === undefined ? null : new Map(list.map((one) => [one.name, one]));
}

/** What a successor is held to as well. */
export async function inheritedChecks(
  store: Store,
  session: SessionId,
  state: State,
): Promise<DigestedCheck[]> {
  const { checks } = state.standing;
  const known = await readChecks(store, session, state);
  if (known === null)
    throw new SkeinError("refused", `${session}: its accept checks were erased`, {
      hint: `set them again, or remove them: skein accept ${session}`,
    });
  return [...checks.entries()].flatMap(([name, { digest }]) => {
    const check = known.get(name);
    return check === undefined ? [] : [{ ...check, digest }];
  });
}
