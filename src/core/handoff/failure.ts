/** Failed attempts, so that the next session does not repeat them unknowingly. */
import { gap } from "../context/text.ts";
import { includes } from "../range.ts";
import { claim, type HandoffLine, type Width } from "./section.ts";
import { retractions, type HandoffEvent, type HandoffSource, type Retraction } from "./source.ts";
import { fieldLine, fieldOf, inLine } from "./text.ts";

/** The oldest first. A repeated failure appears once, at its last position, with its count. */
export function failureLines(source: HandoffSource, width: Width): HandoffLine[] {
  const { state, events, contents } = source;
  const tools = new Map<string, string>();
  const seen = new Map<string, { seq: number; times: number }>();
  const add = (seq: number, text: string): void => {
    const times = (seen.get(text)?.times ?? 0) + 1;
    seen.set(text, { seq, times });
  };
  for (const event of events) {
    if (event.type === "tool.requested") tools.set(event.body.call, event.body.tool);
    // The rewind itself covers what was rewound.
    if (includes(state.mind.lost, event.seq) && event.type !== "session.rewound") continue;
    const text = failureText(source, event, tools, width);
    if (text !== null) add(event.seq, text);
  }
  for (const retraction of retractions(events, state.mind))
    add(retraction.seq, retractedText(source, retraction, width));
  for (const { kind, key, status, seq } of state.mind.items.values()) {
    if (kind !== "task" || status !== "dropped") continue;
    const content = contents.get(seq);
    const why = fieldOf(content, "because") ?? fieldOf(content, "value");
    const reason = why === undefined ? gap("why") : inLine(why, width.said);
    add(seq, `The task ${inLine(key, 200)} was dropped: ${reason}`);
  }
  return [...seen]
    .map(([text, { seq, times }]) => claim(source, seq, times === 1 ? text : `${text} (${times} times)`))
    .toSorted((a, b) => a.seq - b.seq);
}

/**
 * A retracted item, its last value, and the reason: so that the next session does not reuse it unknowingly.
 */
function retractedText(
  { events, contents }: HandoffSource,
  { seq, recordedSeq }: Retraction,
  { said }: Width,
): string {
  const event = events.find((one) => one.seq === seq);
  const { kind, key } = event?.type === "item.retracted" ? event.body : { kind: "item", key: "" };
  const value =
    recordedSeq === null
      ? ""
      : `; it was: ${fieldLine(contents.get(recordedSeq), "value", "its value", said)}`;
  const because = fieldOf(contents.get(seq), "because");
  const why = because === undefined || because === "" ? "" : `; because ${inLine(because, said)}`;
  return `The ${kind} ${inLine(key, 200)} was retracted${value}${why}`;
}

/** Null for events that are not failures. */
function failureText(
  { contents }: HandoffSource,
  event: HandoffEvent,
  tools: ReadonlyMap<string, string>,
  { said }: Width,
): string | null {
  const words = (name: string): string | null => {
    const text = fieldOf(contents.get(event.seq), name);
    return text === undefined || text === "" ? null : inLine(text, said);
  };
  const after = (text: string | null): string => (text === null ? "" : `: ${text}`);
  switch (event.type) {
    case "tool.settled": {
      const tool = tools.get(event.body.call) ?? "a tool";
      if (event.body.late === true) return null;
      if (event.body.status === "error") return `${tool} failed${after(words("output"))}`;
      return event.body.status === "unknown" ? `${tool} may or may not have had its effect` : null;
    }
    case "tool.denied":
      return `${tools.get(event.body.call) ?? "a tool"} was denied${after(words("reason"))}`;
    case "model.failed":
      if (event.body.error === "interrupted") return null;
      return `${event.body.model} failed (${event.body.error})${after(words("message"))}`;
    case "item.retracted":
      // Shown with its value, below.
      return null;
    case "session.rewound":
      return `It was rewound to ${event.body.toSeq}${after(words("reason"))}`;
    case "turn.ended":
      if (event.body.outcome === "completed" || event.body.outcome === "suspended") return null;
      return `Turn ${event.turn ?? "?"} ended: ${event.body.outcome}`;
    case "tool.requested":
    case "item.recorded":
    case "session.merged":
    case "resource.changed":
      return null;
  }
}
