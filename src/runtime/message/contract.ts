/**
 * Contracts: a session declares a JSON Schema for the messages on a topic. The sender validates a message
 * before anything is written. A message is a text: it is valid if its JSON value is, or the text itself.
 */
import { shortId } from "../../core/text/short-id.ts";
import { Key } from "../../core/schema.ts";
import { makeCache } from "../../core/cache.ts";
import { SkeinError } from "../../core/error.ts";
import { errorText } from "../../core/first-error.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Ref, State } from "../../core/state.ts";
import { checkJson } from "../../core/text/json.ts";
import type { Store } from "../../store/port.ts";
import type { Deps } from "../deps.ts";
import type { Change } from "../log/writer.ts";
import { readContent } from "../read/content.ts";
import { checkSchema } from "./contract-schema.ts";
import { inTime } from "../../platform/run-with-timeout.ts";
import { compileSchema, type Validator } from "./schema.ts";

/** The schema for messages on a topic. */
export interface MessageContract {
  readonly topic: string;
  /** Undefined when it was erased: then no message is valid. */
  readonly schema: unknown;
  /** The position of its declaration. */
  readonly seq: number;
}

export async function declareContract(
  { world, writer, actor }: Deps,
  session: SessionId,
  topic: string,
  schema: unknown,
): Promise<Change> {
  checkTopic(topic);
  const digest = world.digest("", checkSchema(schema));
  return writer.change(session, { do: "contract", topic, schema, digest }, { actor });
}

/** Sorted by topic. */
export async function readContracts(
  store: Store,
  session: SessionId,
  state: State,
): Promise<MessageContract[]> {
  const found: MessageContract[] = [];
  for (const [topic, { seq }] of state.standing.contracts.entries()) {
    const content = (await readContent(store, session, seq)) as { readonly schema?: unknown } | undefined;
    found.push({ topic, schema: content?.schema, seq });
  }
  return found;
}

export function checkTopic(topic: string): void {
  const issue = Key.safeParse(topic).error?.issues[0];
  if (issue === undefined) return;
  throw new SkeinError("invalid", `topic: invalid name ${quote(topic)}: ${issue.message}`, {
    hint: 'a topic is a short name, such as "rates"',
  });
}

/** Throws when the message violates the receiver's contract for its topic. */
export async function checkContract(
  store: Store,
  { session, state }: { readonly session: SessionId; readonly state: State },
  { topic, text }: { readonly topic?: string | undefined; readonly text: string },
): Promise<void> {
  const ref = topic === undefined ? undefined : state.standing.contracts.get(topic);
  if (ref === undefined || topic === undefined) return;
  const contract = await compiledContract(store, session, ref);
  const violation = contract === null ? "the contract was erased" : violationOf(contract, text);
  if (violation === null) return;
  throw new SkeinError("refused", `the message violates the contract for ${quote(topic)}: ${violation}`, {
    hint: `"skein contract ${shortId(session)}" shows the contracts of ${session}`,
  });
}

interface CompiledContract {
  readonly validate: Validator;
  readonly hasPatterns: boolean;
  /** True when validation may take longer than the message is long. */
  readonly isCostly: boolean;
}

/**
 * Patterns backtrack, alternatives of alternatives multiply, unique items are compared pair by pair. Any
 * other schema needs no timeout, which costs a thread.
 */
const costly = /"(?:pattern|patternProperties|format|anyOf|oneOf|\$ref|uniqueItems)":/;

/** Pure cache, by the salted hash of the content: no two contracts have the same. */
const compiled = makeCache<string, CompiledContract>(100);

async function compiledContract(
  store: Store,
  session: SessionId,
  { seq, hash }: Ref,
): Promise<CompiledContract | null> {
  const content = (await readContent(store, session, seq)) as { readonly schema?: unknown } | undefined;
  if (content === undefined) return null;
  const known = hash === null ? undefined : compiled.get(hash);
  if (known !== undefined) return known;
  const fresh = compileContract(content.schema, JSON.stringify(content.schema));
  if (hash !== null) compiled.set(hash, fresh);
  return fresh;
}

function compileContract(schema: unknown, text: string): CompiledContract {
  const hasPatterns = /"pattern(?:Properties)?":/.test(text);
  return { validate: compileSchema(schema), hasPatterns, isCostly: costly.test(text) };
}

/** Why a value does not match a schema that `checkSchema` accepted; null if it does. */
export function valueViolation(schema: unknown, value: unknown): string | null {
  const text = JSON.stringify(schema);
  const known = compiled.get(text) ?? compileContract(schema, text);
  compiled.set(text, known);
  const { validate, hasPatterns, isCostly } = known;
  const chars = JSON.stringify(value)?.length ?? 0;
  if (hasPatterns && chars > patternedCharsMax)
    return `${chars} characters; a schema with patterns allows ${patternedCharsMax}`;
  return firstOf(runValidation(() => validate(value), isCostly));
}

/** The first three violations. */
function firstOf(violations: readonly string[]): string | null {
  const more = violations.length > 3 ? `; and ${violations.length - 3} more` : "";
  return violations.length === 0 ? null : `${violations.slice(0, 3).join("; ")}${more}`.slice(0, 1_000);
}

/** The longest message that patterns see: the time to match may grow with the square of the length. */
const patternedCharsMax = 16_384;

function violationOf({ validate, hasPatterns, isCostly }: CompiledContract, text: string): string | null {
  if (hasPatterns && text.length > patternedCharsMax)
    return `${text.length} characters; a contract with patterns allows ${patternedCharsMax}`;
  const value = parsedJson(text);
  const find = (): readonly string[] => {
    const asText = validate(text);
    return asText.length === 0 || value === undefined ? asText : validate(value);
  };
  return firstOf(runValidation(find, isCostly));
}

function runValidation(find: () => readonly string[], isCostly: boolean): readonly string[] {
  try {
    if (!isCostly) return find();
    return inTime(find, limit.contractMs) ?? [`validation takes more than ${limit.contractMs} ms`];
  } catch (error) {
    // More errors than fit on the stack; or an old pattern that is not a Unicode pattern.
    return [`validation failed: ${errorText(error)}`];
  }
}

/** Undefined when the text is not JSON, or cannot be stored. */
function parsedJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    checkJson("the message", value);
    return value;
  } catch {
    return undefined;
  }
}
