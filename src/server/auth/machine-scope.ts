/**
 * What hands out the machine that runs the sessions: its files, its programs, what it reaches. Whoever may
 * only write says what sessions do, and not what with: that takes `operate`. Permissions are guarded where
 * they are set, by what the rules before allowed: see runtime/govern/rules.ts.
 */
import { isUnreviewed } from "../../core/govern/review.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { need, type Call } from "../http/invocation.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";

/** As far as it is looked at; the rest of what is asked for does not matter here. */
export interface AskedOfMachine {
  readonly bind?: readonly { readonly kind: string }[];
  readonly files?: readonly string[];
  readonly wake?: readonly { readonly kind: string }[];
}

/** Where a tool of the program is meant, whoever wrote the program has decided. */
const harmlessKinds = ["tool"];
/** What these watch for is on the machine. */
const watchingKinds = ["file", "git"];

export function needMachine(call: Call, { bind = [], files = [], wake = [] }: AskedOfMachine): void {
  for (const { kind } of bind)
    if (!harmlessKinds.includes(kind)) need(call, "operate", `binding a resource of the kind "${kind}"`);
  for (const { kind } of wake)
    if (watchingKinds.includes(kind)) need(call, "operate", `a trigger of the kind "${kind}"`);
  if (files.length > 0) need(call, "operate", "loading files of the machine");
}

/** Letting an imported session run hands out the machine by what someone else bound and allowed. */
export async function needReview(call: Call, session: Session): Promise<void> {
  if (isUnreviewed(await session.fold())) need(call, "operate", "letting an imported session run");
}

/** The same for what goes on from a copy: it takes over bindings and rules that nobody here set. */
export async function needOwn(call: Call, session: Session): Promise<void> {
  const { store } = internalsOf(call.engine);
  if ((await store.head(session.id))?.copy !== true) return;
  const { bindings, permissions } = (await session.fold()).standing;
  needMachine(call, { bind: [...bindings.values()] });
  if ([...permissions.values()].some(({ rule }) => rule === "allow"))
    need(call, "operate", 'a permission with the rule "allow"');
}
