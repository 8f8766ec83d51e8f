/** The status of a session, in a few words: its runner, what it waits for, or why it is suspended. */
import type { SessionListRow } from "./filter.ts";

export interface Words {
  readonly text: string;
  readonly tone: "warn" | "bad" | "busy" | "plain" | "faint";
  /** A time at the end of the text. */
  readonly at?: number;
}

const waits: Readonly<Record<string, Omit<Words, "at">>> = {
  approval: { text: "Waiting for approval", tone: "warn" },
  answer: { text: "Waiting for an answer", tone: "warn" },
  budget: { text: "Budget exhausted", tone: "warn" },
  error: { text: "Stopped by an error", tone: "bad" },
  "deadline passed": { text: "Deadline passed", tone: "bad" },
  rollback: { text: "Log rolled back", tone: "bad" },
  person: { text: "Suspended by a person", tone: "plain" },
  input: { text: "Waiting for input", tone: "faint" },
  reply: { text: "Waiting for a reply", tone: "plain" },
  trigger: { text: "Waiting for a trigger", tone: "plain" },
};

type StandingFields = Pick<
  SessionListRow,
  "status" | "runBy" | "waitingFor" | "runnable" | "full" | "deadlineMs"
>;

export function standingOf(row: StandingFields): Words | null {
  const { runBy, waitingFor, runnable, deadlineMs } = row;
  if (runBy !== null) return { text: `Running on ${runBy.replace(/\/.*$/s, "")}`, tone: "busy" };
  const words = waitingFor === null ? null : waitingWords(waitingFor);
  if (words !== null && !(waitingFor === "input" && row.full === true)) return words;
  if (row.full === true) return { text: "Inbox full", tone: "warn" };
  if (runnable) return { text: "Queued", tone: "plain" };
  return deadlineMs === null ? null : { text: "Due", tone: "plain", at: deadlineMs };
}

function waitingWords(waitingFor: string): Words {
  const [, until, or = ""] = /^time until (\S+)( or .*)?$/.exec(waitingFor) ?? [];
  const at = until === undefined ? Number.NaN : Date.parse(until);
  if (!Number.isNaN(at))
    return { text: or === "" ? "Sleeping until" : `Until a trigger, or`, tone: "plain", at };
  return (
    (Object.hasOwn(waits, waitingFor) ? waits[waitingFor] : undefined) ?? {
      text: `Waiting for ${waitingFor}`,
      tone: "plain",
    }
  );
}
