/** The kinds of items that a session may record: the built-in ones, and those that its agent declares. */
import { nearest, SkeinError } from "../../core/error.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import { isBuiltInKind, itemKinds, type ItemStatus } from "../../core/item/kind.ts";
import type { CommandOf } from "../../core/command.ts";
import type { State } from "../../core/state.ts";
import type { AgentDefinition } from "../../core/workspace/agent.ts";
import type { Deps } from "../deps.ts";
import type { Change } from "../log/writer.ts";
import { valueViolation } from "../message/contract.ts";
import { agentOf } from "./session-agent.ts";

interface NamedValue {
  readonly kind: string;
  readonly key: string;
  readonly value: unknown;
}

/** Options of `session.record`. */
export interface RecordOptions {
  readonly because?: string;
  /** Idempotency key: a repeated call with it changes nothing. */
  readonly key?: string;
  readonly status?: ItemStatus;
  /** Of a hypothesis or a finding, from 0 to 1. */
  readonly confidence?: number;
  /** What speaks for a hypothesis or a finding: texts, or pointers such as `4x8kz1@12`. */
  readonly evidence?: readonly string[];
}

/** Records an item, if its kind is known and its value matches. */
export async function recordItem(
  deps: Deps,
  session: SessionId,
  item: NamedValue,
  { key: once, ...more }: RecordOptions,
): Promise<Change> {
  const build = async (state: State): Promise<CommandOf<"record">> => {
    await checkItemKind(deps, session, state, item);
    return { do: "record", ...item, ...more };
  };
  return deps.writer.change(session, build, { actor: deps.actor, key: once });
}

/** Throws when the kind is neither built in nor declared, or when the value does not match its schema. */
export async function checkItemKind(
  deps: Deps,
  session: SessionId,
  state: State,
  item: NamedValue,
): Promise<void> {
  if (isBuiltInKind(item.kind)) return;
  checkDeclared((await agentOf(deps, session, state)).agent?.kinds ?? {}, item);
}

function checkDeclared(
  declared: NonNullable<AgentDefinition["kinds"]>,
  { kind, key, value }: NamedValue,
): void {
  const found = Object.hasOwn(declared, kind) ? declared[kind] : undefined;
  if (found === undefined) {
    const known = [...itemKinds, ...Object.keys(declared)];
    const near = nearest(kind, known);
    throw new SkeinError("invalid", `record: kind: expected one of ${known.join(", ")}, got ${quote(kind)}`, {
      hint: near === undefined ? "an agent declares further kinds" : `did you mean ${near}?`,
    });
  }
  const violation = found.schema === undefined ? null : valueViolation(found.schema, value);
  if (violation === null) return;
  throw new SkeinError("invalid", `record: ${kind} ${quote(key)}: value: ${violation}`, {
    hint: "the schema of this kind is in the agent's definition",
  });
}
