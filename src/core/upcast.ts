/**
 * Upcasting: pure steps bring a record of an older version to the newest, one version at a time. A step stays
 * forever and has a golden log.
 */
import { SkeinError } from "./error.ts";

/** From version `from` of a type to the next: a new body and content; either may be absent. */
export interface Step {
  readonly type: string;
  readonly from: number;
  readonly up: (body: unknown, content: unknown) => { readonly body: unknown; readonly content: unknown };
}

export const steps: readonly Step[] = [
  // Version 2 marks a sandboxed shell; version 1 is a binding without a sandbox.
  { type: "resource.bound", from: 1, up: (body, content) => ({ body, content }) },
  // Version 2 marks an external call, and a session that waits for its result.
  { type: "tool.requested", from: 1, up: (body, content) => ({ body, content }) },
  { type: "session.suspended", from: 1, up: (body, content) => ({ body, content }) },
  // Version 2 marks a request to an executor, which keeps its own context.
  { type: "model.requested", from: 1, up: (body, content) => ({ body, content }) },
  // Version 2 has kinds, statuses and fields that version 1 lacks.
  { type: "item.recorded", from: 1, up: (body, content) => ({ body, content }) },
  { type: "item.retracted", from: 1, up: (body, content) => ({ body, content }) },
  { type: "memory.promoted", from: 1, up: (body, content) => ({ body, content }) },
  { type: "memory.forgotten", from: 1, up: (body, content) => ({ body, content }) },
];

export function upcast(
  record: { readonly type: string; readonly v: number; readonly body: unknown; readonly content: unknown },
  toVersion: number,
  known: readonly Step[] = steps,
): { readonly body: unknown; readonly content: unknown } {
  let { body, content } = record;
  for (let version = record.v; version < toVersion; version++) {
    const step = known.find((one) => one.type === record.type && one.from === version);
    if (step === undefined) {
      throw new SkeinError("corrupt", `${record.type}: no upcast from version ${version} to ${version + 1}`);
    }
    ({ body, content } = step.up(body, content));
  }
  return { body, content };
}
