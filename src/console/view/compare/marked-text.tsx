/** A text next to another: words that only it has are marked. */
import { useMemo, useState, type ReactNode } from "react";
import { ShowMore } from "../../ui/untrusted-text.tsx";
import { visible } from "../../ui/visible.ts";
import { compareWords, type WordRun } from "./words.ts";

interface MarkedProps {
  readonly text: string;
  /** Null: nothing to compare with, and nothing is marked. */
  readonly against: string | null;
  /** The length shown at first. */
  readonly chars?: number;
}

/** A longer text is shown without marks. */
const markedChars = 20_000;

export function Marked({ text, against, chars = 2_000 }: MarkedProps): ReactNode {
  const [shown, setShown] = useState(chars);
  const pieces = useMemo(
    () => piecesOf(text.slice(0, shown), against?.slice(0, shown) ?? null),
    [text, against, shown],
  );
  return (
    <>
      <p className="said family-value" dir="auto">
        {text === "" ? <span className="faint">(empty)</span> : null}
        {pieces.map(({ text: said, isOwn }, place) =>
          isOwn ? <mark key={place}>{visible(said)}</mark> : <span key={place}>{visible(said)}</span>,
        )}
      </p>
      <ShowMore left={text.length - shown} act={() => setShown(shown * 4)} />
    </>
  );
}

function piecesOf(text: string, against: string | null): readonly WordRun[] {
  if (against === null || text.length > markedChars) return [{ text, isOwn: false }];
  return compareWords(text, against.slice(0, markedChars))[0];
}
