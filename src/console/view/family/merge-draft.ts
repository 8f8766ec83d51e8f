/** What somebody has answered so far, kept in the tab: a reload or a look elsewhere loses nothing. */
import { useState } from "react";
import { firstAnswer, ownAnswer, type Answer, type Answers, type Conflict, type Take } from "./answer.ts";

export interface MergeDraft {
  readonly answers: Answers;
  /** What the session is told, in words of one's own; empty: as Skein says it. */
  readonly summary: string;
  take(conflict: Conflict, take: Take): Answers;
  amend(name: string, part: Partial<Pick<Answer, "text" | "isJson" | "because" | "status">>): void;
  say(summary: string): void;
  /** The merge is made. */
  drop(): void;
}

interface Kept {
  readonly answers: Answers;
  readonly summary: string;
}

const nothing: Kept = { answers: {}, summary: "" };

function read(key: string): Kept {
  try {
    const kept = JSON.parse(sessionStorage.getItem(key) ?? "null") as Kept | null;
    return kept ?? nothing;
  } catch {
    return nothing;
  }
}

export function useMergeDraft(into: string, from: string): MergeDraft {
  const key = `skein-merge/${into}/${from}`;
  const [kept, setKept] = useState(() => read(key));
  const keep = (next: Kept): void => {
    setKept(next);
    try {
      sessionStorage.setItem(key, JSON.stringify(next));
    } catch {
      // There is no room for it: it is kept while the view is there.
    }
  };
  return {
    ...kept,
    take(conflict, take) {
      const before = ownAnswer(kept.answers, conflict.name);
      const answers = { ...kept.answers, [conflict.name]: firstAnswer(conflict, take, before) };
      keep({ ...kept, answers });
      return answers;
    },
    amend(name, part) {
      const before = ownAnswer(kept.answers, name);
      if (before !== undefined)
        keep({ ...kept, answers: { ...kept.answers, [name]: { ...before, ...part } } });
    },
    say: (summary) => keep({ ...kept, summary }),
    drop() {
      setKept(nothing);
      sessionStorage.removeItem(key);
    },
  };
}
