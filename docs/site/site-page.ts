/** A page of the site: its address, its place in the navigation and its Markdown. */
import { posix } from "node:path";

export interface SitePage {
  /** `tools`, `adr/0001-record-decisions`; the home page is `index`. */
  readonly slug: string;
  /** The file it comes from, from the root of the repository; null when it is generated. */
  readonly file: string | null;
  readonly title: string;
  /** Completes "After this page you can …"; "" where a lead would say nothing. */
  readonly can: string;
  /** The group of the navigation. */
  readonly group: string;
  readonly markdown: string;
  readonly picture?: string;
  readonly nested?: true;
  /** A page that the navigation does not list: a decision, an example. */
  readonly unlisted?: true;
}

/** `docs/tools.md` → `tools`, `GLOSSARY.md` → `glossary`, `examples/ask.ts` → `examples/ask`. */
export const slugOf = (file: string): string =>
  file
    .replace(/^docs\//, "")
    .replace(/\.(md|ts)$/, "")
    .toLowerCase();

const fileOf = (slug: string): string => `${slug}.html`;

/** A relative address, so that the site works below any path. */
export function hrefTo(from: string, to: string, anchor = ""): string {
  const hash = anchor === "" ? "" : `#${anchor}`;
  if (from === to && hash !== "") return hash;
  const path = posix.relative(posix.dirname(from), to === "index" ? "." : fileOf(to));
  return `${to === "index" ? `${path === "" ? "." : path}/` : path}${hash}`;
}

/** An address of a file that is not a page: `assets/site.css`. */
export const assetTo = (from: string, asset: string): string => posix.relative(posix.dirname(from), asset);

/** The anchors that GitHub gives to headings; a repeated heading gets `-1`, `-2`. */
export function makeAnchors(): (heading: string) => string {
  const seen = new Map<string, number>();
  return (heading) => {
    const anchor = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, "")
      .replaceAll(" ", "-");
    const count = seen.get(anchor) ?? 0;
    seen.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  };
}
