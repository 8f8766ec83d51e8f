/** The end of a merge: the summary for the session, and the merge button. */
import { useEffect, useState, type ReactNode } from "react";
import { plural } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { Said } from "../../ui/untrusted-text.tsx";
import { tell, tellError } from "../../ui/toast.tsx";
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
function useTold({ plan, draft }: EndProps): string | null {
  const { session } = useScope();
  const [told, setTold] = useState<string | null>(null);
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
          ({ summary }) => void (isOver || setTold(summary)),
          () => undefined,
        );
    });
    return () => {
      isOver = true;
      end();
    };
  }, [asked]);
  return told ?? plan.summary;
}

export function MergeSummary({ plan, draft, ours }: EndProps & { readonly ours: string }): ReactNode {
  const told = useTold({ plan, draft });
  return (
    <section className="compare-part" aria-label="What it is told">
      <h2>
        What <bdi>{ours}</bdi> is told
      </h2>
      <div className="merge-told">
        <label className="labeled">
          <span>In your own words, in place of its objective and last answers; may be left empty</span>
          <textarea
            className="field"
            rows={4}
            value={draft.summary}
            onChange={(event) => draft.say(event.target.value)}
          />
        </label>
        <div className="labeled">
          <span>It stands in the transcript like this</span>
          <Said text={told ?? ""} className="merge-text" chars={3_000} />
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
      tell("Things have changed meanwhile, and nothing was merged. Your answers are kept: look again.");
      return;
    }
    draft.drop();
    tell(
      report.written === null
        ? "Nothing was new any more: nothing was written."
        : `Merged “${theirs}” at position ${report.written}: ${plural(report.taken.length, "item")} taken, ` +
            `${plural(report.resolved.length, "conflict")} resolved.`,
    );
    go(sessionPath(id));
    refresh(`session/${id}`);
    // Unseen additions were not merged: a toast says that there is more.
    const rest = await session.merge({ from: plan.from, dryRun: true });
    if (rest.range === null) return;
    const look = (): void => go(sessionPath(id, "merge", { from: plan.from }));
    tell(`“${theirs}” has gone on since: what is new there was not merged.`, {
      name: "Look at it",
      act: look,
    });
  };
  useShortcuts([
    {
      key: "ctrl+enter",
      what: "Merge, when all conflicts are resolved",
      act: () => {
        if (isReady) merge().catch(tellError);
      },
    },
  ]);
  return (
    <div className="merge-bar">
      <p className="spread soft" role="status">
        {left > 0
          ? `Left to resolve: ${plural(left, "conflict")} of ${plan.conflicts.length}.`
          : plan.conflicts.length > 0
            ? "All conflicts are resolved."
            : "There is no conflict."}
      </p>
      <Button kind="main" act={merge} disabled={!isReady}>
        Merge
      </Button>
    </div>
  );
}
