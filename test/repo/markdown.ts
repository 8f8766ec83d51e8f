/** What the rules need to know of a Markdown page: its code blocks, its links and its anchors. */

export interface Page {
  readonly path: string;
  readonly text: string;
}

export interface Block {
  readonly path: string;
  /** The line after the opening fence, counted from 1. */
  readonly line: number;
  /** The words after the fence: the language, then any marks. */
  readonly marks: readonly string[];
  readonly code: string;
}

const fence = /^( *)(```+|~~~+)(.*)\n([\s\S]*?)^ *\2 *$/gm;

export function blocksOf({ path, text }: Page): Block[] {
  return [...text.matchAll(fence)].map((match) => {
    const [, indent = "", , marks = "", code = ""] = match;
    return {
      path,
      line: text.slice(0, match.index).split("\n").length + 1,
      marks: marks.trim().split(/\s+/),
      code: code.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    };
  });
}

/** Targets of links and images, without those to other sites. */
export function linksOf({ text }: Page): string[] {
  const prose = text.replaceAll(fence, "").replaceAll(/`[^`\n]*`/g, "");
  const inline = prose.matchAll(/\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g);
  const defined = prose.matchAll(/^ *\[[^\]]+\]: *<?([^\s>]+)>?/gm);
  return [...inline, ...defined].map((match) => match[1] ?? "").filter((link) => !/^[a-z]+:/i.test(link));
}

/** The anchors that GitHub gives to headings; a second heading of the same text gets `-1`, and so on. */
export function anchorsOf({ text }: Page): string[] {
  const seen = new Map<string, number>();
  return [...text.replaceAll(fence, "").matchAll(/^#{1,6} +(.+?) *#*$/gm)].map((match) => {
    const anchor = (match[1] ?? "")
      .toLowerCase()
      .replaceAll(/\]\([^)]*\)/g, "")
      .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, "")
      .replaceAll(" ", "-");
    const count = seen.get(anchor) ?? 0;
    seen.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  });
}
