/**
 * What hands out the machine that runs the sessions: its files, its programs, what it reaches. Whoever may
 * only write says what sessions do, and not what with: that takes `operate`.
 */
import { need, type Call } from "./call.ts";

/** As far as it is looked at; the rest of what is asked for does not matter here. */
export interface AskedOfMachine {
  readonly bind?: readonly { readonly kind: string }[];
  readonly files?: readonly string[];
  readonly grant?: readonly { readonly rule: string }[];
  readonly wake?: readonly { readonly kind: string }[];
}

/** Where a tool of the program is meant, whoever wrote the program has decided. */
const harmlessKinds = ["tool"];
/** A rule that asks or denies only narrows down what a session may do. */
const narrowing = ["ask", "deny"];
/** What these watch for is on the machine. */
const watchingKinds = ["file", "git"];

export function needMachine(
  call: Call,
  { bind = [], files = [], grant = [], wake = [] }: AskedOfMachine,
): void {
  for (const { kind } of bind)
    if (!harmlessKinds.includes(kind)) need(call, "operate", `binding a resource of the kind "${kind}"`);
  for (const { rule } of grant)
    if (!narrowing.includes(rule)) need(call, "operate", `a permission with the rule "${rule}"`);
  for (const { kind } of wake)
    if (watchingKinds.includes(kind)) need(call, "operate", `a trigger of the kind "${kind}"`);
  if (files.length > 0) need(call, "operate", "loading files of the machine");
}
