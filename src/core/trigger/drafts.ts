/** Triggers for the decisions of several slices. */
import { type DraftEvent, draft } from "../decision.ts";
import { present } from "../present.ts";
import { includes } from "../range.ts";
import type { State } from "../state.ts";
import type { ReloadedDocument, TriggerSetting } from "./commands.ts";

export const triggerDraft = ({ spec, ...body }: TriggerSetting): DraftEvent =>
  draft("trigger.set", present(body), { spec });

export const reloadedDraft = ({ path, text, diff, ...body }: ReloadedDocument): DraftEvent =>
  draft("document.loaded", body, present({ path, text, diff }));

export interface MessageHeader {
  /** The sending session; null: a person. */
  readonly from: string | null;
  readonly topic?: string | undefined;
}

/** The triggers that a message fires. */
export const triggersFor = ({ standing }: State, { from, topic }: MessageHeader): readonly string[] =>
  [...standing.triggers.entries()].flatMap(([name, trigger]) => {
    const fits =
      trigger.kind === "message" &&
      (trigger.topic === null || trigger.topic === topic) &&
      (trigger.from === null || trigger.from === from);
    return fits ? [name] : [];
  });

/** The name prefix of triggers for the ends of sessions that this one opened. */
export const childPrefix = "child-";

/** Triggers for the ends of opened sessions that were already reported: no longer needed. */
export const reportedEnds = ({ standing: { triggers, inbox } }: State): readonly string[] =>
  [...triggers.entries()].flatMap(([name, { kind, input }]) =>
    kind === "session" && name.startsWith(childPrefix) && input > 0 && !includes(inbox.waiting, input)
      ? [name]
      : [],
  );
