/** The parts of a context, in the order that the model gets them. Only visible ones are rendered. */
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { memo, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import { lackedText } from "../../../core/text/lacked-text.ts";
import { Link } from "../../link.tsx";
import { count, tokens } from "../../ui/amount.ts";
import { Said, visible } from "../../ui/untrusted-text.tsx";
import { kindNames } from "../../ui/window-share.ts";
import { sessionPath } from "../../route.ts";
import { useScope } from "../session/scope.ts";
import { shownPart, type ContextPiece } from "./context-part.ts";
import type { Context } from "./context-reading.ts";

const rowHeight = 56;

export function ContextParts({ context: { parts, reasons } }: { readonly context: Context }): ReactNode {
  const list = useRef<HTMLOListElement>(null);
  const [margin, setMargin] = useState(0);
  const [unfolded, setUnfolded] = useState<ReadonlySet<number>>(new Set());
  useLayoutEffect(() => {
    const top = (list.current?.getBoundingClientRect().top ?? 0) + scrollY;
    if (Math.abs(top - margin) > 1) setMargin(top);
  });
  const virtual = useWindowVirtualizer({
    count: parts.length,
    estimateSize: () => rowHeight,
    overscan: 10,
    scrollMargin: margin,
  });
  const turn = (place: number): void =>
    setUnfolded(
      unfolded.has(place)
        ? new Set([...unfolded].filter((one) => one !== place))
        : new Set([...unfolded, place]),
    );
  return (
    <ol ref={list} className="context-parts" style={{ height: virtual.getTotalSize() }}>
      {virtual.getVirtualItems().map(({ index, start }) => {
        const [part, reason] = [parts[index], reasons[index]];
        if (part === undefined || reason === undefined) return null;
        return (
          <li
            key={index}
            ref={virtual.measureElement}
            data-index={index}
            aria-setsize={parts.length}
            aria-posinset={index + 1}
            style={{ transform: `translateY(${start - margin}px)` }}
          >
            <PartRow part={part} reason={reason} isOpen={unfolded.has(index)} turn={() => turn(index)} />
          </li>
        );
      })}
    </ol>
  );
}

interface PartRowProps {
  readonly part: Context["parts"][number];
  readonly reason: Context["reasons"][number];
  readonly isOpen: boolean;
  readonly turn: () => void;
}

function PartRow({ part, reason, isOpen, turn }: PartRowProps): ReactNode {
  const { title, line, pieces, gaps } = shownPart(part);
  const { kind, why, fromSeq, toSeq, tokens: size, brought = [], lacked = [] } = reason;
  return (
    <div className="context-part window-bar" data-open={isOpen || undefined}>
      <button type="button" className="context-part-head" aria-expanded={isOpen} onClick={turn}>
        <span className="window-bar-patch" data-kind={kind} title={kindNames[kind]} />
        <span className="context-part-title">{title}</span>
        <span className="said cut soft spread">{line}</span>
        {gaps.length === 0 ? null : (
          <span className="mark" data-tone="warn" title={gaps.map(visible).join("\n")}>
            erased
          </span>
        )}
        <span className="number small">{tokens(size)}</span>
      </button>
      <p className="context-part-why small faint">
        {kindNames[kind]} · {visible(why)}
        {toSeq === 0 ? null : <Origin fromSeq={fromSeq} toSeq={toSeq} />}
        {brought.map((one) => (
          <span key={`${one.seq} ${one.range?.[0] ?? 0}`}>
            {" "}
            · brought in: {visible(one.kind)} {one.seq} ({one.score.toFixed(2)}, by {visible(one.why)})
          </span>
        ))}
        {lacked.map((note) => (
          <span key={note}> · {visible(lackedText(note))}</span>
        ))}
      </p>
      {isOpen ? <Pieces pieces={pieces} /> : null}
    </div>
  );
}

/** Its position in the log. */
function Origin({ fromSeq, toSeq }: Pick<PartRowProps["reason"], "fromSeq" | "toSeq">): ReactNode {
  const { id } = useScope();
  const name = fromSeq === toSeq ? count(toSeq) : `${count(fromSeq)}–${count(toSeq)}`;
  return (
    <>
      {" · "}
      <Link to={sessionPath(id, "log", { seq: fromSeq })}>{name}</Link>
    </>
  );
}

const Pieces = memo(function Pieces({ pieces }: { readonly pieces: readonly ContextPiece[] }): ReactNode {
  return (
    <div className="context-pieces stack">
      {pieces.map(({ title, text, isCode }, place) => (
        <div key={place}>
          {title === null ? null : <h2 className="said">{visible(title)}</h2>}
          <Said as={isCode ? "pre" : "p"} text={text} chars={8_000} />
        </div>
      ))}
    </div>
  );
});
