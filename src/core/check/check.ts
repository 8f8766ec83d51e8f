/** An accept check: its definition, and the rules about results. */
import * as z from "zod";
import { limit } from "../limit.ts";
import { once } from "../cache.ts";
import { AgentName, ModelName } from "../schema.ts";
import type { SortedMap } from "../sorted-map.ts";
import type { Ref, Standing } from "../state.ts";

export const checkKinds = ["command", "file", "review", "person"] as const;
/** What a check is: a command, a file, a review by another agent, a person. */
export type CheckKind = (typeof checkKinds)[number];

export const checkStatuses = ["passed", "failed", "error"] as const;
/** What came of a check; `error`: it could not run. */
export type CheckStatus = (typeof checkStatuses)[number];

export const CheckName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/, "a check's name has up to 40 letters, digits and . _ -");

const Text = z.string().min(1).max(limit.acceptCharsMax);
const name = CheckName.describe("its name; by default its kind, with a number").exactOptional();
/** A binding's name. */
const inside = z
  .string()
  .min(1)
  .max(limit.keyCharsMax)
  .describe("the bound directory; by default the first")
  .exactOptional();

/** Not absolute, and not above where it begins. Links are followed when the check runs. */
function isInside(path: string): boolean {
  if (/^([/\\]|[A-Za-z]:)/.test(path)) return false;
  let depth = 0;
  for (const part of path.split(/[/\\]/)) {
    if (part === "..") depth -= 1;
    else if (part !== "" && part !== ".") depth += 1;
    if (depth < 0) return false;
  }
  return true;
}

/** An accept check as a caller gives it, by its kind. */
export const checkSchemas = once(() => ({
  command: z.strictObject({
    kind: z.literal("command"),
    name,
    command: Text.describe("a command line; it passes with exit code 0"),
    in: inside,
    timeoutMs: z.int().min(1_000).max(limit.acceptMsMax).exactOptional(),
  }),
  file: z.strictObject({
    kind: z.literal("file"),
    name,
    path: z
      .string()
      .min(1)
      .max(1_000)
      .refine(isInside, "expected a path relative to the bound directory, and inside it")
      .describe("a file that must exist, in a bound directory"),
    contains: Text.describe("a text that it must hold").exactOptional(),
    in: inside,
  }),
  review: z.strictObject({
    kind: z.literal("review"),
    name,
    rubric: Text.describe("what another agent scores the work by, from 0 to 1"),
    least: z.number().min(0).max(1).describe("the score that passes; by default 0.8").exactOptional(),
    agent: AgentName.exactOptional(),
    model: ModelName.exactOptional(),
  }),
  person: z.strictObject({
    kind: z.literal("person"),
    name,
    question: Text.describe("what a person answers with pass or fail"),
  }),
}));
export const AcceptCheck = once(() => {
  const { command, file, review, person } = checkSchemas();
  return z.discriminatedUnion("kind", [command, file, review, person]);
});

/** An accept check. `name` is optional: by default its kind, with a number. */
export type AcceptCheck = z.infer<ReturnType<typeof AcceptCheck>>;
/** One with its name and its defaults, as a session stores it. */
export type NamedCheck = AcceptCheck & { readonly name: string };

const defaults: { readonly [K in CheckKind]: object } = {
  command: { timeoutMs: limit.acceptMsDefault },
  file: {},
  review: { least: 0.8 },
  person: {},
};

/** Names and defaults for those that lack them. Explicit names may repeat here; `repeatedName` finds them. */
export function namedChecks(checks: readonly AcceptCheck[]): readonly NamedCheck[] {
  const taken = new Set(checks.flatMap((one) => one.name ?? []));
  return checks.map((one) => {
    let own = one.name ?? one.kind;
    if (one.name === undefined) {
      for (let number = 2; taken.has(own); number++) own = `${one.kind}-${number}`;
      taken.add(own);
    }
    return { ...defaults[one.kind], ...one, name: own };
  });
}

/** The first name that two of them have; undefined without one. */
export function repeatedName(checks: readonly AcceptCheck[]): string | undefined {
  const seen = new Set<string>();
  return checks.find(({ name: one }) => one !== undefined && (seen.has(one) || !seen.add(one)))?.name;
}

/** An accept check; its definition is in the content at `seq`. */
export interface CheckState extends Ref {
  readonly kind: CheckKind;
  /** Of its definition. */
  readonly digest: string;
  /** How often it has run. */
  readonly tries: number;
  /** What came of it since the last turn; null if it has not run since. */
  readonly result: {
    readonly status: CheckStatus;
    readonly seq: number;
    readonly commit?: string;
  } | null;
}

type Checks = SortedMap<CheckState>;

/** The checks that have not passed since the last turn. */
export const missingChecks = ({ checks }: Pick<Standing, "checks">): readonly string[] =>
  [...checks.entries()].flatMap(([one, { result }]) => (result?.status === "passed" ? [] : [one]));

/** A turn began, or the session went back: what the checks found is of another state. */
export const staleChecks = (checks: Checks): Checks => {
  let stale = checks;
  for (const [one, state] of checks.entries())
    if (state.result !== null) stale = stale.set(one, { ...state, result: null });
  return stale;
};
