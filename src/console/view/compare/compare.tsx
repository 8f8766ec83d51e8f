/** Two branches side by side: their items, transcripts and state, since their common base. */
import { useState, type ReactNode } from "react";
import { Link } from "../../link.tsx";
import { count } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { showToast } from "../../ui/toast.tsx";
import { Empty, WhenRead } from "../../ui/load-error.tsx";
import { brief } from "../../ui/visible.ts";
import { useReading } from "../../query-cache.ts";
import { go, goWith, sessionPath } from "../../route.ts";
import { sessionOf } from "../../server.ts";
import { useShortcuts } from "../../shortcut.ts";
import { useScope } from "../session/scope.ts";
import { Choose } from "../family/choose.tsx";
import { ComparedFiles, ComparedState, ComparedTranscript } from "./compared-rest.tsx";
import { ComparedItems } from "./compared-items.tsx";
import { compareItems, type Comparison, type Diff } from "./difference.ts";
import { titlesAmong, type TitledSession } from "../family/relative.ts";
import "../family/family.css";

export function Compare({ params }: { readonly params: URLSearchParams }): ReactNode {
  const { id, at } = useScope();
  const other = params.get("with");
  if (other === null || other === "")
    return (
      <Choose title="Compare with" toward={(session) => sessionPath(id, "compare", { at, with: session })} />
    );
  const given = params.get("withAt") ?? "";
  return <Both key={other} other={other} otherAt={/^\d{1,15}$/.test(given) ? Number(given) : null} />;
}

interface BothProps {
  readonly other: string;
  readonly otherAt: number | null;
}

/** One side, as named in the URL and by the server. */
export interface CompareSide {
  readonly session: string;
  readonly title: string;
  readonly seq: number;
  /** Null: now. */
  readonly at: number | null;
  /** The last position that its log has. */
  readonly lastSeq: number;
}

interface ComparedSessions {
  readonly diff: Diff;
  readonly items: readonly Comparison[];
  readonly right: TitledSession;
  readonly lastSeqs: readonly [left: number, right: number];
}

const place = (session: string, at: number | null) => (at === null ? { session } : { session, at });

function Both({ other, otherAt }: BothProps): ReactNode {
  const { id, at, session, state } = useScope();
  const read = useReading(
    `session/${id}/diff/${at ?? "now"}/${other}/${otherAt ?? "now"}`,
    async (): Promise<ComparedSessions> => {
      const against = await sessionOf(other);
      const diff = await session.diff(place(id, at), place(against.id, otherAt), {
        only: ["state", "items", "transcript", "files"],
      });
      const base = diff.common === null ? [] : await session.items({ atSeq: diff.common.seq });
      const there = await against.state(otherAt === null ? {} : { atSeq: otherAt });
      const items = compareItems(diff.items ?? [], base);
      const [ours, theirs] = await Promise.all([session.head(), against.head()]);
      return { diff, items, right: there, lastSeqs: [ours.seq, theirs.seq] };
    },
  );
  return (
    <WhenRead of={read}>
      {({ diff, items, right, lastSeqs: [ours, theirs] }) => {
        const titleOf = titlesAmong(right.session === id ? [] : [state, right]);
        const { session: there } = right;
        return (
          <SideBySide
            diff={diff}
            items={items}
            left={{ session: id, title: titleOf(state), seq: diff.from.seq, at, lastSeq: ours }}
            right={{ session: there, title: titleOf(right), seq: diff.to.seq, at: otherAt, lastSeq: theirs }}
          />
        );
      }}
    </WhenRead>
  );
}

interface SideBySideProps {
  readonly diff: Diff;
  readonly items: readonly Comparison[];
  readonly left: CompareSide;
  readonly right: CompareSide;
}

function SideBySide({ diff, items, left, right }: SideBySideProps): ReactNode {
  const { state = [], transcript, files } = diff;
  const swap = (): void =>
    go(sessionPath(right.session, "compare", { at: right.at, with: left.session, withAt: left.at }));
  useShortcuts([{ key: "s", what: "Swap the sides", act: swap }]);
  const said = (transcript?.added.length ?? 0) + (transcript?.removed.length ?? 0);
  const isSame = items.length + state.length + said + (files?.files.length ?? 0) === 0;
  return (
    <div className="family compare">
      <div className="compare-top">
        <Common common={diff.common} left={left} />
        <Button size="small" act={swap}>
          Swap sides
        </Button>
        {left.session === right.session ? null : (
          <Link
            className="button"
            data-size="small"
            to={sessionPath(left.session, "merge", { from: right.session })}
          >
            Merge “{brief(right.title, 40)}” into “{brief(left.title, 40)}”
          </Link>
        )}
      </div>
      <div className="compare-sides">
        <SideHead side={left} param="at" />
        <SideHead side={right} param="withAt" />
      </div>
      {isSame ? (
        <Empty title="No differences">
          <p>Items, transcript and state are the same.</p>
        </Empty>
      ) : (
        <>
          <ComparedItems items={items} left={left} right={right} />
          <ComparedTranscript transcript={transcript} left={left} right={right} />
          <ComparedState changes={state} left={left} right={right} />
          <ComparedFiles files={files} />
        </>
      )}
    </div>
  );
}

function Common({
  common,
  left,
}: {
  readonly common: Diff["common"];
  readonly left: CompareSide;
}): ReactNode {
  if (common === null) return <p className="soft spread">No common history.</p>;
  return (
    <p className="soft spread">
      Shared history up to{" "}
      <Link to={sessionPath(left.session, "transcript", { at: common.seq })}>position {common.seq}</Link>.
      Differences since then are below; words on one side only are marked.
    </p>
  );
}

/** Its name, and the compared position. */
function SideHead({
  side,
  param,
}: {
  readonly side: CompareSide;
  readonly param: "at" | "withAt";
}): ReactNode {
  const { session, title, seq, at, lastSeq } = side;
  const [typed, setTyped] = useState<string | null>(null);
  const travel = (): void => {
    if (typed === null) return;
    setTyped(null);
    const text = typed.trim();
    const isThere = /^\d{1,15}$/.test(text) && Number(text) >= 1 && Number(text) <= lastSeq;
    if (isThere || text === "") return goWith({ [param]: text });
    showToast(
      `Position ${brief(text, 20)} does not exist in “${brief(title, 60)}” (1 to ${count(lastSeq)}).`,
    );
  };
  return (
    <div className="compare-side">
      <Link to={sessionPath(session, "transcript", { at })} className="cut compare-name" dir="auto">
        {title}
      </Link>
      <label className="row soft small">
        at
        <input
          className="field number compare-at"
          inputMode="numeric"
          aria-label={`Position of ${brief(title, 60)}`}
          placeholder={`now, ${seq}`}
          value={typed ?? at ?? ""}
          onChange={(event) => setTyped(event.target.value)}
          onBlur={travel}
          onKeyDown={(event) => {
            if (event.key === "Enter") travel();
          }}
        />
      </label>
    </div>
  );
}
