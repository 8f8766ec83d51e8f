/**
 * Access to the machine that runs the sessions: its files, its programs, its network. `write` decides what
 * sessions do, not which resources they use: that needs `operate`. Permissions are checked where they are
 * set, against the rules before: see runtime/govern/rules.ts.
 */
import { isUnreviewed } from "../../core/govern/review.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { need, type OperationCall } from "../http/invocation.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";

/** The relevant parameters of a call. */
export interface MachineParams {
  readonly bind?: readonly { readonly kind: string }[];
  readonly files?: readonly string[];
  readonly wake?: readonly { readonly kind: string }[];
  readonly accept?: readonly unknown[];
}

/** The author of the program has decided about its tools. */
const harmlessKinds = ["tool"];
/** These watch the machine. */
const watchingKinds = ["file", "git"];

export function needMachine(
  call: OperationCall,
  { bind = [], files = [], wake = [], accept }: MachineParams,
): void {
  for (const { kind } of bind)
    if (!harmlessKinds.includes(kind)) need(call, "operate", `binding a resource of the kind "${kind}"`);
  for (const { kind } of wake)
    if (watchingKinds.includes(kind)) need(call, "operate", `a trigger of the kind "${kind}"`);
  if (accept !== undefined) need(call, "operate", "setting accept checks");
  if (files.length > 0) need(call, "operate", "loading files of the server");
}

/** Activating an imported session gives the machine to what a stranger bound and allowed. */
export async function needReview(call: OperationCall, session: Session): Promise<void> {
  if (isUnreviewed(await session.fold())) need(call, "operate", "activating an imported session");
}

/** The same for a copy: it inherits bindings and rules that were set elsewhere. */
export async function needOwn(call: OperationCall, session: Session): Promise<void> {
  const { store } = internalsOf(call.engine);
  if ((await store.head(session.id))?.copy !== true) return;
  const { bindings, permissions } = (await session.fold()).standing;
  needMachine(call, { bind: [...bindings.values()] });
  if ([...permissions.values()].some(({ rule }) => rule === "allow"))
    need(call, "operate", 'a permission with the rule "allow"');
}
