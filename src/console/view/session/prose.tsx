/** The text of a model, rendered as Markdown. A long text is shown in part, with a button for more. */
import { createElement, memo, useMemo, useState, type ReactNode } from "react";
import { Copy } from "../../ui/copy.tsx";
import { ShowMore } from "../../ui/untrusted-text.tsx";
import { visible } from "../../ui/visible.ts";
import { parseMarkdown, type MarkdownElement, type MarkdownNode } from "./markdown.ts";

const shownChars = 20_000;

interface ProseProps {
  readonly text: string;
  /** The model is still writing: the end of a long text is shown, with a caret. */
  readonly isLive?: boolean;
}

export const Prose = memo(function Prose({ text, isLive = false }: ProseProps): ReactNode {
  const [shown, setShown] = useState(shownChars);
  const part = text.length <= shown ? text : isLive ? text.slice(-shown) : text.slice(0, shown);
  const nodes = useMemo(() => parseMarkdown(visible(part)), [part]);
  return (
    <div className="prose" data-live={isLive || undefined}>
      {render(nodes)}
      {isLive ? null : <ShowMore left={text.length - shown} act={() => setShown(shown * 4)} />}
    </div>
  );
});

const render = (nodes: readonly MarkdownNode[]): ReactNode =>
  nodes.map((node, key) => (typeof node === "string" ? node : <Element key={key} element={node} />));

function Element({ element }: { readonly element: MarkdownElement }): ReactNode {
  const { tag, children, href, language, start, align } = element;
  switch (tag) {
    case "a":
      return (
        <a href={href} title={href} target="_blank" rel="noopener noreferrer nofollow">
          {render(children)}
        </a>
      );
    case "pre":
      return <CodeBlock language={language ?? ""} text={children.map(String).join("")} />;
    case "table":
      return (
        <div className="prose-table" tabIndex={0} role="region" aria-label="Table">
          <table>{render(children)}</table>
        </div>
      );
    case "hr":
    case "br":
      return createElement(tag);
    case "h1":
    case "h2":
    case "h3":
    case "h4":
    case "h5":
    case "h6":
      // A heading of the text is not one of the page.
      return (
        <p dir="auto" className="prose-heading" data-level={tag.slice(1)}>
          {render(children)}
        </p>
      );
    default: {
      const style = align === undefined ? undefined : { textAlign: align };
      const dir = ["p", "li", "blockquote", "td", "th"].includes(tag) ? "auto" : undefined;
      return createElement(tag, { dir, start, style }, render(children));
    }
  }
}

function CodeBlock({ language, text }: { readonly language: string; readonly text: string }): ReactNode {
  return (
    <figure className="prose-code">
      <figcaption>
        <span className="cut">{language}</span>
        <Copy text={text} what="the code" />
      </figcaption>
      <pre dir="ltr" tabIndex={0} aria-label="Code">
        {text}
      </pre>
    </figure>
  );
}
