/** The kinds of items that a session may record: the built-in ones, and those that its agent declares. */
import { nearest, SkeinError } from "../../core/error.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import { isBuiltInKind, itemKinds } from "../../core/item/kind.ts";
import type { State } from "../../core/state.ts";
import type { AgentDefinition } from "../../core/workspace/agent.ts";
import type { Deps } from "../deps.ts";
import { valueViolation } from "../message/contract.ts";
import { agentOf } from "./session-agent.ts";

export interface NamedValue {
  readonly kind: string;
  readonly key: string;
  readonly value: unknown;
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
