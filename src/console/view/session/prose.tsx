/** What a model wrote, with its structure. Of a long text a part is shown until somebody asks for more. */
import { memo, useMemo, useState, type ReactNode } from "react";
import { Copy } from "../../ui/copy.tsx";
import { ShowMore } from "../../ui/untrusted-text.tsx";
import { visible } from "../../ui/visible.ts";
import { piecesOf, type ListItem, type Piece, type Span } from "./markdown.ts";

const shownChars = 20_000;

interface ProseProps {
  readonly text: string;
  /** It is being written: a caret stands at its end, which is what is shown of a long one. */
  readonly isLive?: boolean;
}

export const Prose = memo(function Prose({ text, isLive = false }: ProseProps): ReactNode {
  const [shown, setShown] = useState(shownChars);
  const part = text.length <= shown ? text : isLive ? text.slice(-shown) : text.slice(0, shown);
  const pieces = useMemo(() => piecesOf(visible(part)), [part]);
  return (
    <div className="prose" data-live={isLive || undefined}>
      {pieces.map((piece, place) => (
        <PieceOf key={place} piece={piece} />
      ))}
      {isLive ? null : <ShowMore left={text.length - shown} act={() => setShown(shown * 4)} />}
    </div>
  );
});

function PieceOf({ piece }: { readonly piece: Piece }): ReactNode {
  switch (piece.kind) {
    case "paragraph":
      return <p dir="auto">{spansIn(piece.spans)}</p>;
    case "heading":
      // Headings of what was said are none of the page.
      return (
        <p dir="auto" className="prose-heading" data-level={piece.level}>
          {spansIn(piece.spans)}
        </p>
      );
    case "quote":
      return <blockquote dir="auto">{spansIn(piece.spans)}</blockquote>;
    case "list":
      return <ListOf items={piece.items} />;
    case "rule":
      return <hr />;
    case "code":
      return (
        <figure className="prose-code">
          <figcaption>
            <span className="cut">{piece.language}</span>
            <Copy text={piece.text} what="the code" />
          </figcaption>
          <pre dir="ltr" tabIndex={0} aria-label="Code">
            {piece.text}
          </pre>
        </figure>
      );
  }
}

function ListOf({ items }: { readonly items: readonly ListItem[] }): ReactNode {
  return (
    <ul>
      {items.map(({ depth, number, spans }, place) => (
        <li key={place} dir="auto" style={{ marginInlineStart: `${depth * 1.4}em` }}>
          <span className="prose-bullet">{number ?? "•"}</span>
          <span>{spansIn(spans)}</span>
        </li>
      ))}
    </ul>
  );
}

const spansIn = (spans: readonly Span[]): ReactNode =>
  spans.map(({ kind, text }, place) => {
    if (kind === "code") return <code key={place}>{text}</code>;
    return kind === "strong" ? <strong key={place}>{text}</strong> : <span key={place}>{text}</span>;
  });
