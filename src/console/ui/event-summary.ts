/** The effect of an event, in a line that is safe to show; its actor; and the families that filter a log. */
import { sessionSlices } from "../../core/catalog.ts";
import { summarize, type SummaryInput } from "../../core/summary.ts";
import { shortId } from "../../core/text/short-id.ts";
import { brief, visible } from "./visible.ts";

const charsMax = 280;
const summaries = new WeakMap<SummaryInput, string>();

/** The summary of core, cut, with control characters made visible. Cached, because rows render often. */
export function summaryOf(event: SummaryInput): string {
  const known = summaries.get(event);
  if (known !== undefined) return known;
  const line = brief(summarize(event), charsMax);
  summaries.set(event, line);
  return line;
}

/** The actor, with ids in their short form. */
export function actorWords(actor: string): string {
  const [kind = ""] = actor.split(":");
  const name = actor.slice(kind.length + 1);
  if (kind === "user" || kind === "session") return `${kind} ${visible(shortId(name))}`;
  return kind === "agent" || kind === "tool" ? `${kind} ${brief(name, 60)}` : brief(actor, 60);
}

export type EventFamily = keyof typeof sessionSlices;

export const eventFamilies = Object.keys(sessionSlices) as readonly EventFamily[];
export const typesOf = (family: EventFamily): readonly string[] => Object.keys(sessionSlices[family]);

/** Whether an event is a problem, or needs attention. */
export function toneOfEvent({ type, body }: Pick<SummaryInput, "type" | "body">): "bad" | "warn" | null {
  const { status, outcome, by } = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (type === "model.failed" || type === "message.refused") return "bad";
  if (type === "tool.settled") return status === "error" || status === "unknown" ? "bad" : null;
  if (type === "turn.ended" || type === "session.closed") return outcome === "failed" ? "bad" : null;
  if (type === "session.suspended") return by === "error" || by === "unknown" ? "bad" : "warn";
  return ["tool.denied", "budget.reached", "session.interrupted"].includes(type) ? "warn" : null;
}
