/** Templates: workspace triggers, each of which opens a new session when it fires. */
import { type TriggerKind, triggerKinds } from "./events.ts";
import type { TriggerSetting } from "./commands.ts";
import { type DraftEvent } from "../decision.ts";
import { present } from "../present.ts";
import type { MissedRule } from "./trigger.ts";

/** The position of a template in the workspace's log; the content there says what it opens and watches. */
export interface TemplateRef {
  readonly name: string;
  readonly kind: TriggerKind;
  readonly missed: MissedRule;
  readonly nextMs: number | null;
  readonly lastCause: string | null;
  readonly seq: number;
  readonly at: number;
  /** Its author, on whose behalf sessions are opened. */
  readonly actor: string;
  /** The last firing, and the session it opened. */
  readonly fired: { readonly at: number; readonly opened: string | null } | null;
}

/** A record of the workspace's log, without its content. */
export interface TemplateRecord {
  readonly seq: number;
  readonly at: number;
  readonly type: string;
  readonly actor: string;
  readonly body: unknown;
}

/** The event types that templates are folded from. */
export const templateTypes = ["trigger.set", "trigger.removed", "trigger.fired", "trigger.skipped"] as const;

/** Applies the next record. Ignores kinds that only a newer program knows. */
export function foldTemplate(
  templates: Map<string, TemplateRef>,
  { type, seq, at, actor, body }: TemplateRecord,
): void {
  const given = body as Partial<Omit<TemplateRef, "fired"> & { digest: string; opened: string }>;
  const { name, kind, missed = "once", nextMs = null, digest: lastCause = null, opened = null } = given;
  if (name === undefined) return;
  const before = templates.get(name);
  if (type === "trigger.set" && kind !== undefined && triggerKinds.includes(kind))
    templates.set(name, { name, kind, missed, nextMs, lastCause, seq, at, actor, fired: null });
  else if (type === "trigger.set" || type === "trigger.removed") templates.delete(name);
  else if (before !== undefined && type === "trigger.fired")
    templates.set(name, { ...before, nextMs, lastCause, fired: { at, opened } });
  else if (before !== undefined && type === "trigger.skipped") templates.set(name, { ...before, nextMs });
}

/** The input of the decision on a firing. */
export interface TemplateCause {
  readonly name: string;
  /** The record that set it. */
  readonly setSeq: number;
  readonly digest: string;
  readonly was?: string | null;
  readonly dueMs?: number;
  readonly nextMs?: number;
  readonly count?: number;
  readonly detail?: unknown;
}

/** Whether a template may fire for this cause: it was not set again since, and has not fired for it. */
export function mayFire(template: TemplateRef | undefined, cause: TemplateCause): template is TemplateRef {
  if (template === undefined || template.seq !== cause.setSeq) return false;
  if (cause.dueMs !== undefined) return template.nextMs === cause.dueMs;
  return cause.was === undefined || cause.was === template.lastCause;
}

export const templateSet = ({ spec, ...body }: TriggerSetting, open: unknown): DraftEvent => ({
  type: "trigger.set",
  body: present(body),
  content: { spec, open },
});

export function templateFired(template: TemplateRef, cause: TemplateCause, opened: string): DraftEvent {
  const { name, digest, dueMs, count, detail } = cause;
  // Fired manually, it still fires at its time.
  const nextMs = dueMs === undefined ? (template.nextMs ?? undefined) : cause.nextMs;
  const body = present({ name, digest, dueMs, nextMs, count, opened });
  return { type: "trigger.fired", body, ...(detail === undefined ? {} : { content: { detail } }) };
}
