/** One conflict: the base, both versions, and the choice. */
import { memo, useId, type ReactNode } from "react";
import { actorWords } from "../../ui/event-summary.ts";
import { Ago } from "../../ui/moment.tsx";
import { brief } from "../../ui/visible.ts";
import {
  standingOf,
  takesOf,
  type ConflictChoice,
  type Conflict,
  type ConflictSide,
  type Take,
} from "./conflict-answer.ts";
import { OwnValue, Why } from "./own-value.tsx";
import { Marked } from "../compare/marked-text.tsx";
import type { MergeDraft } from "./merge-draft.ts";
import { valueText } from "../compare/words.ts";

interface ConflictCardProps {
  readonly conflict: Conflict;
  readonly answer: ConflictChoice | undefined;
  readonly amend: MergeDraft["amend"];
  readonly ours: string;
  readonly theirs: string;
  readonly isCurrent: boolean;
  readonly focused: () => void;
  readonly take: (take: Take) => void;
}

const standings = {
  open: ["unresolved", undefined],
  moved: ["changed since you chose", "warn"],
  wrong: ["invalid JSON", "bad"],
  answered: ["resolved", "good"],
} as const;

/** Of hundreds only the changed one renders again. Its callbacks behave the same at any time. */
export const ConflictCard = memo(Card, (before, now) =>
  (["conflict", "answer", "ours", "theirs", "isCurrent"] as const).every((one) => before[one] === now[one]),
);

function Card(props: ConflictCardProps): ReactNode {
  const { conflict, answer, amend, isCurrent, focused, take } = props;
  const { name, kind, key, base, ours, theirs } = conflict;
  const id = useId();
  const [state, tone] = standings[standingOf(conflict, answer)];
  const chosen = answer?.take ?? null;
  return (
    <article
      className="merge-conflict"
      tabIndex={-1}
      data-conflict={name}
      data-current={isCurrent || undefined}
      aria-labelledby={id}
      onFocus={focused}
    >
      <h3 id={id}>
        <span className="mark">{kind}</span> <bdi className="compare-key">{brief(key, 120)}</bdi>
        <span className="mark merge-standing" data-tone={tone}>
          {state}
        </span>
      </h3>
      <div className="merge-sides" role="group" aria-label="Resolution">
        <div className="merge-side" data-side="base">
          <p className="small soft merge-whose">Before, in both</p>
          {base === null ? <p className="faint">Absent.</p> : <SideValue side={base} against={null} />}
        </div>
        <div className="merge-side" data-chosen={chosen === "ours" || undefined}>
          <TakeButton digit={1} isChosen={chosen === "ours"} take={() => take("ours")}>
            Ours: <bdi>{props.ours}</bdi>
          </TakeButton>
          <SideValue side={ours} against={theirs} />
        </div>
        <div className="merge-side" data-chosen={chosen === "theirs" || undefined}>
          <TakeButton digit={2} isChosen={chosen === "theirs"} take={() => take("theirs")}>
            Theirs: <bdi>{props.theirs}</bdi>
          </TakeButton>
          <SideValue side={theirs} against={ours} />
        </div>
      </div>
      <div className="row wrap">
        <TakeButton digit={3} isChosen={chosen === "value"} take={() => take("value")}>
          Custom value
        </TakeButton>
        {takesOf(conflict).includes("both") ? (
          <TakeButton digit={4} isChosen={chosen === "both"} take={() => take("both")}>
            Keep both
          </TakeButton>
        ) : null}
        {answer === undefined ? null : <Why conflict={conflict} answer={answer} amend={amend} />}
      </div>
      {answer?.take === "value" ? <OwnValue conflict={conflict} answer={answer} amend={amend} /> : null}
    </article>
  );
}

interface TakeButtonProps {
  readonly digit: number;
  readonly isChosen: boolean;
  readonly take: () => void;
  readonly children: ReactNode;
}

function TakeButton({ digit, isChosen, take, children }: TakeButtonProps): ReactNode {
  return (
    <button type="button" className="button merge-take" aria-pressed={isChosen} onClick={take}>
      <kbd className="key">{digit}</kbd>
      <span className="cut">{children}</span>
    </button>
  );
}

const gone = {
  erased: "Content erased.",
  retracted: "Retracted: taking this side retracts it.",
  rewound: "Removed by a rewind: taking this side retracts it.",
} as const;

function SideValue({
  side,
  against,
}: {
  readonly side: ConflictSide;
  readonly against: ConflictSide | null;
}): ReactNode {
  const { value, status, because, actor, at, gone: why } = side;
  const isHeld = against !== null && against.gone === null;
  return (
    <>
      {why === null ? (
        <Marked text={valueText(value)} against={isHeld ? valueText(against.value) : null} />
      ) : (
        <p className="faint">{gone[why]}</p>
      )}
      {status === null ? null : (
        <p>
          <span className="mark">{status}</span>
        </p>
      )}
      {because === null ? null : (
        <p className="small soft said">
          because <bdi>{brief(because, 400)}</bdi>
        </p>
      )}
      {actor === null || at === null ? null : (
        <p className="small faint">
          {actorWords(actor)}, <Ago at={at} />
        </p>
      )}
    </>
  );
}
