/** Triggers as the decisions of several slices need them. */
import { type DraftEvent, draft, present } from "../decision.ts";
import { includes } from "../range.ts";
import type { State } from "../state.ts";
import type { TriggerSetting } from "./commands.ts";

export const triggerDraft = ({ spec, ...body }: TriggerSetting): DraftEvent =>
  draft("trigger.set", present(body), { spec });

export interface Addressed {
  /** The session that sent it; null: a person. */
  readonly from: string | null;
  readonly topic?: string | undefined;
}

/** The triggers that a message fires. */
export const triggersFor = ({ standing }: State, { from, topic }: Addressed): readonly string[] =>
  [...standing.triggers.entries()].flatMap(([name, trigger]) => {
    const fits =
      trigger.kind === "message" &&
      (trigger.topic === null || trigger.topic === topic) &&
      (trigger.from === null || trigger.from === from);
    return fits ? [name] : [];
  });

/** What the names of triggers begin with that are for the ends of sessions that this one opened. */
export const childPrefix = "child-";

/** Triggers for the ends of sessions that this one opened, and that it was told of: of no more use. */
export const toldOf = ({ standing: { triggers, inbox } }: State): readonly string[] =>
  [...triggers.entries()].flatMap(([name, { kind, input }]) =>
    kind === "session" && name.startsWith(childPrefix) && input > 0 && !includes(inbox.waiting, input)
      ? [name]
      : [],
  );
