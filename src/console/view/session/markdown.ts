/**
 * Parses the Markdown of models into a tree of elements, with `markdown-it` and HTML off. Links lead to
 * http, https and mailto addresses only; an image is shown as its text and address, and never loaded.
 */
import MarkdownIt from "markdown-it";
import type { Token } from "markdown-it";

export interface MarkdownElement {
  /** A tag of HTML; `pre` is a code block. */
  readonly tag: string;
  readonly children: readonly MarkdownNode[];
  /** A link's address. */
  readonly href?: string;
  /** A code block's language. */
  readonly language?: string;
  /** The first number of an ordered list. */
  readonly start?: number;
  readonly align?: "left" | "center" | "right";
}
export type MarkdownNode = string | MarkdownElement;

const parser = new MarkdownIt({ html: false, linkify: true, maxNesting: 20 });
parser.validateLink = (url) => /^(?:https?:\/\/|mailto:)/i.test(url);
// Only addresses with a scheme become links. Definitions of references stay visible.
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
parser.disable("reference");

export const parseMarkdown = (text: string): readonly MarkdownNode[] => treeOf(parser.parse(text, {}));

interface OpenElement extends MarkdownElement {
  readonly children: MarkdownNode[];
}

function treeOf(tokens: readonly Token[]): readonly MarkdownNode[] {
  const root: OpenElement = { tag: "", children: [] };
  const open = [root];
  for (const token of tokens) {
    const inner = open.at(-1) ?? root;
    if (token.nesting === 1) {
      const element = elementOf(token);
      inner.children.push(element);
      open.push(element);
    } else if (token.nesting === -1) open.pop();
    else inner.children.push(...leafOf(token));
  }
  return root.children;
}

function elementOf(token: Token): OpenElement {
  const href = token.attrGet("href");
  const start = token.attrGet("start");
  const align = /^text-align:(left|center|right)$/.exec(String(token.attrGet("style")))?.[1];
  return {
    // The paragraphs of a tight list have no space around them.
    tag: token.hidden ? "span" : token.tag,
    children: [],
    ...(href === null ? {} : { href: String(href) }),
    ...(start === null ? {} : { start: Number(start) }),
    ...(align === undefined ? {} : { align: align as "left" | "center" | "right" }),
  };
}

function leafOf(token: Token): readonly MarkdownNode[] {
  switch (token.type) {
    case "inline":
      return treeOf(token.children ?? []);
    case "softbreak":
      return ["\n"];
    case "fence":
    case "code_block":
      return [{ tag: "pre", language: token.info.trim(), children: [token.content.replace(/\n$/, "")] }];
    case "code_inline":
      return [{ tag: "code", children: [token.content] }];
    case "image":
      return [`${token.content} (${token.attrGet("src") ?? ""})`];
    case "hr":
    case "hardbreak":
      return [{ tag: token.tag, children: [] }];
    default:
      return token.content === "" ? [] : [token.content];
  }
}
