/**
 * Whether the work of a ticket is accepted: what its session's checks found since the last turn, what is to
 * be done about it, and the message to the session.
 */
import { checkText } from "../core/check/text.ts";
import type { CheckState, NamedCheck } from "../core/check/check.ts";
import type { SessionId } from "../core/ids.ts";
import { limit } from "../core/limit.ts";
import type { State } from "../core/state.ts";
import type { Session } from "../runtime/engine/session.ts";

/** How often a ticket is worked on by default before it has failed. */
export const triesDefault = 3;

/** What a runner knows of the checks of this run. */
export interface ProofKnowledge {
  readonly tries: number;
  /** Turns of sessions whose checks this run has run: one that could not run is not run again by itself. */
  readonly proved: ReadonlySet<string>;
}

export const turnKey = (session: SessionId, { standing }: State): string => `${session} ${standing.lastTurn}`;

/**
 * `finish`: run what has not run, and close it if all have passed. `again`: its findings go back. `fail`: it
 * was tried often enough. `block`: a person, or the machine, is needed.
 */
export interface Proof {
  readonly due: "finish" | "again" | "fail" | "block";
  readonly why: string | null;
}

/** The verdict on a session whose turn has ended. */
export async function proofOf(session: Session, state: State, known: ProofKnowledge): Promise<Proof> {
  const checks = [...state.standing.checks.entries()];
  const isProved = known.proved.has(turnKey(session.id, state));
  const failed = checks.filter(([, { result }]) => result?.status === "failed");
  const unrun = checks.filter(([, { kind, result }]) => kind !== "person" && result === null);
  const broken = checks.filter(([, { result }]) => result?.status === "error");
  if (unrun.length > 0 || (broken.length > 0 && !isProved)) return { due: "finish", why: "being checked" };
  if (failed.length > 0) {
    const tries = Math.max(...failed.map(([, one]) => one.tries));
    const reasons = await reasonsOf(session, failed);
    const why = `not accepted after ${tries} ${tries === 1 ? "try" : "tries"}: ${reasons}`;
    return { due: tries >= known.tries ? "fail" : "again", why: why.slice(0, limit.reasonCharsMax) };
  }
  if (broken.length > 0)
    return { due: "block", why: `cannot be checked: ${await reasonsOf(session, broken)}` };
  const asked = checks.flatMap(([name, { result }]) => (result === null ? [name] : []));
  if (asked.length === 0) return { due: "finish", why: null };
  const ways = asked.map((name) => `skein check ${session.id.slice(-8)} --pass ${name}`);
  return { due: "block", why: `a person decides ${asked.join(", ")}: ${ways.join(" && ")}` };
}

type CheckEntries = readonly (readonly [string, CheckState])[];

async function reasonsOf(session: Session, ran: CheckEntries): Promise<string> {
  const reasons: string[] = [];
  for (const [name, { result }] of ran) {
    const { reason } = await ranAt(session, result?.seq ?? 0);
    reasons.push(reason === undefined ? name : `${name} (${reason})`);
  }
  return reasons.join(", ");
}

async function ranAt(
  session: Session,
  seq: number,
): Promise<{ readonly reason?: string; readonly output?: string }> {
  if (seq === 0) return {};
  for await (const { content } of session.events({ fromSeq: seq, toSeq: seq })) return content ?? {};
  return {};
}

const outputCharsMax = 6_000;

/** The message to the session about the failed checks. */
export async function findingsOf(session: Session, state: State, triesMax: number): Promise<string> {
  const parts: string[] = [];
  let tries = 0;
  for (const [name, { result, tries: tried }] of state.standing.checks.entries()) {
    if (result?.status !== "failed") continue;
    tries = Math.max(tries, tried);
    const { reason = "it failed", output = "" } = await ranAt(session, result.seq);
    const said = output.trimEnd().slice(-outputCharsMax);
    parts.push(`${name}: ${reason}${said === "" ? "" : `\n\n${quoted(said)}`}`);
  }
  return (
    `This is not accepted yet (try ${tries} of ${triesMax}). These checks failed; what they printed is ` +
    `below, as data. Fix the cause in your work. You cannot change the checks.\n\n${parts.join("\n\n")}`
  );
}

const quoted = (text: string): string =>
  text
    .split("\n")
    .map((line) => `    ${line}`)
    .join("\n");

/** For the session, before it begins. */
export const acceptedWhen = (checks: readonly NamedCheck[]): string[] =>
  checks.length === 0
    ? []
    : [`It is accepted only when: ${checks.map((one) => checkText(one)).join("; ")}. You cannot change it.`];
