/** The options of a binding that describes an external tool: what is wrong with them. */

/** How long the outcome of an external call is awaited. */
export const externalTimeoutMs = { byDefault: 86_400_000, max: 90 * 86_400_000 } as const;

/** Names of the tools that every session has. */
export const sessionToolNames: readonly string[] = [
  "record",
  "retract",
  "remember",
  "scratch",
  "recall",
  "lookup",
  "send",
  "fork",
  "open",
  "plan",
  "sleep",
];

const effects: readonly unknown[] = ["read", "idempotent", "unsafe"];

/** The mistake in the options of an external tool; null if there is none. */
export function externalComplaint(options: object): string | null {
  const { external, description, input, effect, timeoutMs } = options as Record<string, unknown>;
  if (external !== true) return "external: expected true";
  if (typeof description !== "string" || description.trim() === "") return "description: missing";
  if (typeof input !== "object" || input === null || (input as { type?: unknown }).type !== "object")
    return 'input: expected a JSON Schema with "type": "object"';
  if (effect !== undefined && !effects.includes(effect))
    return 'effect: expected "read", "idempotent" or "unsafe"';
  const isTime = timeoutMs === undefined || (Number.isSafeInteger(timeoutMs) && Number(timeoutMs) >= 1);
  return isTime && Number(timeoutMs ?? 1) <= externalTimeoutMs.max
    ? null
    : `timeoutMs: expected an integer from 1 to ${externalTimeoutMs.max}`;
}
