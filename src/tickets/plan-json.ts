/** A plan in JSON: a list of tickets, or an object with a name and such a list. */
import * as z from "zod";
import { quote } from "../core/ids.ts";
import { checkShape } from "../core/text/shape.ts";
import { errorText } from "../core/first-error.ts";
import { checkAt, mistake, type PlanDraft, type Ticket } from "./plan-draft.ts";

const Amount = z.number().min(0, "limits are not negative");

const Accept = z.array(z.unknown()).readonly();

const Written = z.strictObject({
  id: z.union([z.string(), z.int().transform(String)], { error: "expected a string" }),
  title: z.string(),
  text: z.string().exactOptional(),
  after: z
    .union([z.string(), z.array(z.string()).readonly()], { error: "expected an id, or a list of ids" })
    .exactOptional(),
  agent: z.string().exactOptional(),
  labels: z.record(z.string(), z.string()).readonly().exactOptional(),
  budget: z
    .strictObject({
      usd: Amount.exactOptional(),
      tokens: Amount.exactOptional(),
      steps: Amount.exactOptional(),
      turns: Amount.exactOptional(),
      toolCalls: Amount.exactOptional(),
      wallMs: Amount.exactOptional(),
    })
    .exactOptional(),
  accept: Accept.exactOptional(),
  done: z.boolean().exactOptional(),
});

const Whole = z.strictObject({
  name: z.string().exactOptional(),
  accept: Accept.exactOptional(),
  tickets: z.array(z.unknown()).readonly(),
});

export function readJson(text: string, file: string): PlanDraft {
  const plain = text.replace(/^\uFEFF/, "");
  const value = parse(plain, file);
  const whole = Array.isArray(value)
    ? { tickets: value as readonly unknown[] }
    : checkShape(Whole, value, { what: "plan", where: `${file}:1` });
  const lines = elementLines(plain);
  const tickets = whole.tickets.map((one, place): Ticket => {
    const line = lines[place] ?? 1;
    const where = `${file}:${line}`;
    const {
      text: body = "",
      after = [],
      done,
      accept,
      ...rest
    } = checkShape(Written, one, { what: "ticket", where });
    const ids = typeof after === "string" ? [after] : after;
    return {
      ...rest,
      text: body,
      after: [...new Set(ids)],
      line,
      ...(done === true ? { done } : {}),
      ...checksOf(accept, file, line),
    };
  });
  const { name = null, accept: all } = whole as {
    readonly name?: string;
    readonly accept?: readonly unknown[];
  };
  return { name, tickets, ...checksOf(all, file, 1) };
}

const checksOf = (
  given: readonly unknown[] | undefined,
  file: string,
  line: number,
): Pick<PlanDraft, "accept"> =>
  given === undefined ? {} : { accept: given.map((one) => checkAt(one, file, line)) };

function parse(text: string, file: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const message = errorText(error);
    const at = Number(/position (\d+)/.exec(message)?.[1] ?? text.length);
    const line = text.slice(0, at).split("\n").length;
    const near = quote(text.slice(at).trimStart().slice(0, 20));
    throw mistake(file, line, at >= text.length ? "unexpected end of JSON" : `invalid JSON: ${near}`);
  }
}

/**
 * The lines at which the tickets begin: objects in the top-level list, or in a field of the top-level object.
 */
function elementLines(text: string): number[] {
  const lines: number[] = [];
  let open = "";
  let line = 1;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\(?:.|$))*(?:"|$)|[[\]{}\n]/gs)) {
    if (token === "\n") line += 1;
    else if (token === "]" || token === "}") open = open.slice(0, -1);
    else if (token === "[" || token === "{") {
      if (token === "{" && (open === "[" || open === "{[")) lines.push(line);
      open += token;
    }
  }
  return lines;
}
