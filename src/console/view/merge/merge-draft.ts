/** The resolutions so far, kept in the tab: a reload or a detour loses nothing. */
import { useRef, useState } from "react";
import {
  firstAnswer,
  ownAnswer,
  type ConflictChoice,
  type Answers,
  type Conflict,
  type Take,
} from "./conflict-answer.ts";

export interface MergeDraft {
  readonly answers: Answers;
  /** A custom summary for the session; empty: Skein's. */
  readonly summary: string;
  take(conflict: Conflict, take: Take): Answers;
  amend(name: string, part: Partial<Pick<ConflictChoice, "text" | "isJson" | "because" | "status">>): void;
  say(summary: string): void;
  /** The merge is done: nothing is kept. */
  drop(): void;
}

interface StoredDraft {
  readonly answers: Answers;
  readonly summary: string;
}

const nothing: StoredDraft = { answers: {}, summary: "" };

function read(key: string): StoredDraft {
  try {
    const kept = JSON.parse(sessionStorage.getItem(key) ?? "null") as StoredDraft | null;
    return kept ?? nothing;
  } catch {
    return nothing;
  }
}

export function useMergeDraft(into: string, from: string): MergeDraft {
  const key = `skein-merge/${into}/${from}`;
  const [kept, setKept] = useState(() => read(key));
  // An update from an earlier draft adds to the latest resolutions, and removes none.
  const latest = useRef(kept);
  const keep = (next: StoredDraft): void => {
    latest.current = next;
    setKept(next);
    try {
      sessionStorage.setItem(key, JSON.stringify(next));
    } catch {
      // Storage is full: the draft lives as long as the view.
    }
  };
  const put = (name: string, answer: ConflictChoice): Answers => {
    const answers = { ...latest.current.answers, [name]: answer };
    keep({ ...latest.current, answers });
    return answers;
  };
  return {
    ...kept,
    take(conflict, take) {
      const before = ownAnswer(latest.current.answers, conflict.name);
      return put(conflict.name, firstAnswer(conflict, take, before));
    },
    amend(name, part) {
      const before = ownAnswer(latest.current.answers, name);
      if (before !== undefined) put(name, { ...before, ...part });
    },
    say: (summary) => keep({ ...latest.current, summary }),
    drop: () => sessionStorage.removeItem(key),
  };
}
