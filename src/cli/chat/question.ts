/** What a suspended session waits for, and what you can do about it. */
import { shortId } from "../../core/text/short-id.ts";
import type { Resource } from "../../core/budget/budget.ts";
import type { Amounts } from "../../core/state.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { limitWords } from "../command/budget-options.ts";
import { present } from "../../core/present.ts";
import type { Screen } from "../command/screen.ts";
import { count, manyLines, oneLine } from "../format/text.ts";

export interface AskedCall {
  readonly call: string;
  readonly tool: string;
  readonly input: unknown;
  /** What exactly would run; only such a call can always be allowed. */
  readonly command?: { readonly text: string; readonly directory: string };
  /** The position of the request. */
  readonly seq: number;
}

export interface Question {
  readonly session: string;
  readonly by: string;
  readonly reason: string | null;
  /** Tool calls that wait for approval, in the order of their requests. */
  readonly calls: readonly AskedCall[];
  /** The model's error, if that is the cause. */
  readonly modelError?: string;
  /** Options of `skein budget` that raise the reached limit and keep the others. */
  readonly budget?: string;
}

/** Null when the session is not suspended. */
export async function questionOf(session: Session): Promise<Question | null> {
  const { mind, standing } = await session.fold();
  const { status, why } = standing;
  if (status !== "suspended" || why === null) return null;
  const asked = [...mind.calls.entries()].filter(([, { phase }]) => phase === "asked");
  const calls: AskedCall[] = [];
  for (const [call, { tool, seq }] of asked.toSorted(([, a], [, b]) => a.seq - b.seq)) {
    const { input = null, command } = (await contentAt(session, seq)) as Partial<AskedCall>;
    calls.push({ call, tool, input, seq, ...present({ command }) });
  }
  const { reason = null } = (await contentAt(session, why.seq)) as { readonly reason?: string };
  const modelError = why.by === "error" ? await modelErrorOf(session) : undefined;
  const budget = why.by === "budget" ? await moreBudget(session, standing.limits) : undefined;
  return { session: session.id, by: why.by, reason, calls, ...present({ modelError, budget }) };
}

/** Undefined when the last model call succeeded. */
async function modelErrorOf(session: Session): Promise<string | undefined> {
  const types = ["model.failed", "model.responded"];
  for await (const { type, body } of session.events({ types, reverse: true, limit: 1 }))
    return type === "model.failed" ? String((body as { readonly error?: unknown }).error) : undefined;
  return undefined;
}

/** New limits replace all existing ones, so all of them are named. */
async function moreBudget(session: Session, limits: Amounts): Promise<string | undefined> {
  for await (const { body } of session.events({ types: ["budget.reached"], reverse: true, limit: 1 })) {
    const { resource, limit, used } = body as { resource: Resource; limit: number; used: number };
    // It may be an old one, and raised since.
    if (limits[resource] === undefined || limits[resource] > Math.max(limit, used)) return undefined;
    const { [resource]: _, ...others } = limits;
    const raised = { [resource]: 2 * Math.max(1, limit, used) };
    return [...limitWords(raised), ...limitWords(others)].join(" ");
  }
  return undefined;
}

async function contentAt(session: Session, seq: number): Promise<object> {
  for await (const { content } of session.events({ fromSeq: seq, toSeq: seq })) return content ?? {};
  return {};
}

type Command = Screen["command"];

function errorWays(id: string, modelError: string | undefined, command: Command): string[] {
  const goOn = `${command(`activate ${id}`)}; then: ${command(`run ${id}`)}`;
  const another = `with another model: ${command(`migrate ${id} --model PROVIDER/MODEL`)}; then: ${goOn}`;
  if (modelError === undefined) return [`mend it, then: ${goOn}`];
  // The same request to the same model would be refused again.
  if (modelError === "invalid") return [another, `or mend it, then: ${goOn}`];
  return [`to try again: ${goOn}`, `or ${another}`];
}

/** How much of one argument is shown where a command shows all of it. */
const shownCharsMax = 2_000;

/** True when `callLines` leaves out a part of the call by default. */
export const isCut = ({ input }: AskedCall): boolean =>
  argumentsIn(input).some(([, value]) => value.length > shownCharsMax);

/**
 * A call as it would run: every argument whole, or with the number of characters left out, and its line
 * breaks and white space as they are. A person decides by this, so nothing is folded into one line.
 */
export function callLines(asked: AskedCall, charsMax: number = shownCharsMax): string[] {
  const { call, tool, input, command } = asked;
  return [
    `  ${oneLine(tool)}  (${oneLine(call)})`,
    ...argumentsIn(input).flatMap(([name, value]) => argumentLines(oneLine(name), value, charsMax)),
    ...(command === undefined ? [] : [`    in ${oneLine(command.directory)}`]),
  ];
}

function argumentsIn(input: unknown): readonly (readonly [string, string])[] {
  const text = (value: unknown): string =>
    typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
  if (typeof input !== "object" || input === null) return input === null ? [] : [["input", text(input)]];
  return Object.entries(input).map(([name, value]) => [name, text(value)]);
}

function argumentLines(name: string, value: string, charsMax: number): string[] {
  const hidden = value.length - charsMax;
  const half = Math.floor(charsMax / 2);
  const block = (text: string): string[] => manyLines(text).map((line) => `      │ ${line}`);
  if (hidden > 0) {
    const gap = `      [… ${count(hidden)} characters are not shown here …]`;
    return [`    ${name}:`, ...block(value.slice(0, half)), gap, ...block(value.slice(half + hidden))];
  }
  const lines = manyLines(value);
  const isPlain = lines.length === 1 && lines[0] === value && value === value.trim() && value.length <= 200;
  return isPlain ? [`    ${name}: ${value}`] : [`    ${name}:`, ...block(value)];
}

/** The waiting calls, each as it would run. */
export function questionLines(question: Question, command: Command, charsMax = shownCharsMax): string[] {
  const { calls, session } = question;
  const isShort = calls.some(isCut) && charsMax < Infinity;
  return [
    ...calls.flatMap((call) => callLines(call, charsMax)),
    ...(isShort ? [`all of it: ${command(`answer ${shortId(session)}`)}`] : []),
  ];
}

/** The commands to type next. */
export function wayOn(question: Omit<Question, "reason" | "calls">, command: Command): string[] {
  const { session, by, modelError, budget } = question;
  const id = shortId(session);
  const run = command(`run ${id}`);
  switch (by) {
    case "approval":
      return [
        `allow it: ${command(`answer ${id} allow`)}; or: ${command(`answer ${id} deny --reason WHY`)}; ` +
          `then: ${run}`,
        `--remember session allows every call of the tool here, --remember always this command everywhere`,
      ];
    case "unknown":
      return [`look what happened, then: ${command(`answer ${id} --text "what you found"`)}; then: ${run}`];
    case "tool":
      return [
        `send the result: ${command(`settle ${id} CALL --output FILE`)}; ` +
          `its calls: ${command(`show ${id}`)}; then: ${run}`,
      ];
    case "budget":
      return [
        budget === undefined
          ? `${command(`budget ${id}`)} shows its limits; set others, then: ${run}`
          : `give it more, such as: ${command(`budget ${id} ${budget}`)}; then: ${run}`,
      ];
    case "error":
      return errorWays(id, modelError, command);
    default:
      return [`to resume: ${command(`activate ${id}`)}; then: ${run}`];
  }
}
