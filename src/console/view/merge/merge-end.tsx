/** The end of a merge: the summary for the session, and the merge button. */
import { useEffect, useState, type ReactNode } from "react";
import { plural } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { Said } from "../../ui/untrusted-text.tsx";
import { showToast, showError } from "../../ui/toast.tsx";
import { refresh } from "../../query-cache.ts";
import { go, sessionPath } from "../../route.ts";
import { useShortcuts } from "../../shortcut.ts";
import { after } from "../../world.ts";
import { useScope } from "../session/scope.ts";
import {
  countOpen,
  mergeAnswer,
  type Conflict,
  type MergeAnswer,
  type MergePlan,
} from "./conflict-answer.ts";
import type { MergeDraft } from "./merge-draft.ts";

interface EndProps {
  readonly plan: MergePlan;
  readonly draft: MergeDraft;
}

const wordsOf = ({ summary }: MergeDraft): { readonly summary?: string } =>
  summary.trim() === "" ? {} : { summary: summary.trim() };

/** Up to the previewed position: what the other session adds later is not merged unseen. */
const shownOf = ({ from, range }: MergePlan) => ({ from, ...(range === null ? {} : { toSeq: range.toSeq }) });

const gatherMs = 400;

/** During the merge no preview is requested: its conflicts are about to disappear. */
const looking: { isMerging: boolean; asked: Promise<void> } = { isMerging: false, asked: Promise.resolve() };

/** The summary with the resolutions so far. */
function usePreview({ plan, draft }: EndProps): string | null {
  const { session } = useScope();
  const [preview, setPreview] = useState<string | null>(null);
  const given: Record<string, MergeAnswer> = {};
  for (const conflict of plan.conflicts) {
    const answer = mergeAnswer(conflict, draft.answers);
    if (answer !== undefined) given[conflict.name] = answer;
  }
  const asked = JSON.stringify([given, wordsOf(draft), plan.range]);
  useEffect(() => {
    let isOver = false;
    const end = after(gatherMs, () => {
      if (looking.isMerging) return;
      looking.asked = session
        .merge({ ...shownOf(plan), dryRun: true, resolve: given, ...wordsOf(draft) })
        // Concurrent changes come with the next plan.
        .then(
          ({ summary }) => void (isOver || setPreview(summary)),
          () => undefined,
        );
    });
    return () => {
      isOver = true;
      end();
    };
  }, [asked]);
  return preview ?? plan.summary;
}

export function MergeSummary({ plan, draft, ours }: EndProps & { readonly ours: string }): ReactNode {
  const preview = usePreview({ plan, draft });
  return (
    <section className="compare-part" aria-label="Summary">
      <h2>
        Summary for <bdi>{ours}</bdi>
      </h2>
      <div className="merge-summary">
        <label className="labeled">
          <span>Your summary (optional; replaces its objective and last answers)</span>
          <textarea
            className="field"
            rows={4}
            value={draft.summary}
            onChange={(event) => draft.say(event.target.value)}
          />
        </label>
        <div className="labeled">
          <span>Preview in the transcript</span>
          <Said text={preview ?? ""} className="merge-text" chars={3_000} />
        </div>
      </div>
    </section>
  );
}

interface BarProps extends EndProps {
  readonly isTaking: boolean;
  readonly theirs: string;
}

export function MergeBar({ plan, draft, isTaking, theirs }: BarProps): ReactNode {
  const { id, session } = useScope();
  const left = countOpen(plan.conflicts, draft.answers);
  const isReady = left === 0 && isTaking;
  const merge = async (): Promise<void> => {
    const answers = draft.answers;
    const resolve = (conflict: Conflict): MergeAnswer | undefined => mergeAnswer(conflict, answers);
    looking.isMerging = true;
    await looking.asked;
    const made = session.merge({ ...shownOf(plan), resolve, ...wordsOf(draft) });
    const report = await made.finally(() => {
      looking.isMerging = false;
    });
    if (!report.ok) {
      refresh(`session/${id}`);
      showToast(
        "Nothing merged: the sessions changed meanwhile. Your choices are kept; review and merge again.",
      );
      return;
    }
    draft.drop();
    showToast(
      report.written === null
        ? "Nothing new to merge."
        : `Merged “${theirs}” at position ${report.written}: ${plural(report.taken.length, "item")} taken, ` +
            `${plural(report.resolved.length, "conflict")} resolved.`,
    );
    go(sessionPath(id));
    refresh(`session/${id}`);
    // Unseen additions were not merged: a toast says that there is more.
    const rest = await session.merge({ from: plan.from, dryRun: true });
    if (rest.range === null) return;
    const look = (): void => go(sessionPath(id, "merge", { from: plan.from }));
    showToast(`“${theirs}” has new changes since, which were not merged.`, {
      name: "View",
      act: look,
    });
  };
  useShortcuts([
    {
      key: "ctrl+enter",
      what: "Merge",
      act: () => {
        if (isReady) merge().catch(showError);
      },
    },
  ]);
  return (
    <div className="merge-bar">
      <p className="spread soft" role="status">
        {left > 0
          ? `${left} of ${plural(plan.conflicts.length, "conflict")} unresolved.`
          : plan.conflicts.length > 0
            ? "All conflicts resolved."
            : "No conflicts."}
      </p>
      <Button kind="main" act={merge} disabled={!isReady}>
        Merge
      </Button>
    </div>
  );
}
