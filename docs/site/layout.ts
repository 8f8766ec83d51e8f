/** The HTML around a page: navigation, outline, previous and next, search. No inline script, no inline style. */
import { nav } from "../nav.ts";
import { escapeHtml } from "./highlight.ts";
import type { Heading, RenderedPage } from "./markdown.ts";
import { assetTo, hrefTo, slugOf, type SitePage } from "./site-page.ts";

/** Files of the site by role, from its root: `assets/site-1a2b.css`. */
export interface SiteAssets {
  readonly style: string;
  readonly theme: string;
  readonly script: string;
  readonly icon: string;
  readonly sections: string;
}

const icons = {
  search: "M7 12a5 5 0 1 0 0-10 5 5 0 0 0 0 10zM10.7 10.7 14 14",
  moon: "M13 9.5A5.5 5.5 0 1 1 6.5 3a4.5 4.5 0 0 0 6.5 6.5z",
  menu: "M2.500 4.500h11M2.500 8h11M2.500 11.500h11",
  left: "M9.800 4 6 8l3.800 4",
  right: "M6.200 4 10 8l-3.800 4",
  terminal: "M3.500 4.500 7 8l-3.500 3.500M8.500 12h4",
} as const;

export const iconOf = (name: keyof typeof icons): string =>
  `<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="${icons[name]}"/></svg>`;

const logo =
  '<svg class="logo" viewBox="0 0 24 24" aria-hidden="true"><rect width="24" height="24" rx="6.5"/>' +
  '<path d="M5.500 8.500c3.200-4 9.800-4 13 0M5.500 15.500c3.200 4 9.800 4 13 0M5.500 8.500c2.600 3.600 10.400 3.400 13 7' +
  'M18.500 8.500c-2.600 3.600-10.400 3.400-13 7"/></svg>';

export interface Surroundings {
  readonly assets: SiteAssets;
  /** The pages of the navigation in order. */
  readonly listed: readonly SitePage[];
  readonly version: string;
}

export function pageHtml(page: SitePage, { html, headings }: RenderedPage, around: Surroundings): string {
  const outline = headings.filter(({ level }) => level === 2 || level === 3);
  return documentHtml(page, around, {
    title: `${page.title} · Skein`,
    kind: "page",
    body:
      `<main id="content" tabindex="-1"><article>${crumbs(page)}\n${withOutline(html, smallOutline(outline))}</article>` +
      `${neighbors(page, around.listed)}</main>\n${outlineHtml(outline)}`,
  });
}

export function documentHtml(
  page: Pick<SitePage, "slug" | "group" | "can"> & { readonly file?: string | null },
  { assets, version }: Surroundings,
  { title, kind, body }: { readonly title: string; readonly kind: string; readonly body: string },
): string {
  const to = (asset: string): string => assetTo(page.slug, asset);
  const about = page.can === "" ? "Skein runs AI-agent sessions on a durable log." : `You can ${page.can}.`;
  return `<!doctype html>
<html lang="en" data-root="${hrefTo(page.slug, "index")}" data-sections="${to(assets.sections)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<meta name="description" content="${escapeHtml(about)}">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="${to(assets.icon)}" type="image/svg+xml">
<link rel="stylesheet" href="${to(assets.style)}">
<script src="${to(assets.theme)}"></script>
<script type="module" src="${to(assets.script)}"></script>
</head>
<body class="${kind}">
<a class="skip" href="#content">Skip to content</a>
<header class="bar">
<button type="button" class="plain" data-menu aria-expanded="false" aria-controls="nav">${iconOf("menu")}<span>Menu</span></button>
<a class="brand" href="${hrefTo(page.slug, "index")}">${logo}Skein</a>
<button type="button" class="plain" data-search aria-label="Search">${iconOf("search")}</button>
</header>
<nav id="nav" class="side" aria-label="Documentation">
<a class="brand" href="${hrefTo(page.slug, "index")}">${logo}Skein<small>${escapeHtml(version)}</small></a>
<button type="button" class="find" data-search>${iconOf("search")}<span>Search</span><kbd>/</kbd></button>
<div class="groups">${nav.map((group) => groupHtml(group, page)).join("")}</div>
<div class="foot"><a href="/" data-console>${iconOf("terminal")}Console</a>
<button type="button" data-theme-switch>${iconOf("moon")}<span>Theme</span></button></div>
</nav>
<div class="shade" data-shade hidden></div>
${body}
</body>
</html>
`;
}

function groupHtml({ title, pages }: (typeof nav)[number], here: Pick<SitePage, "slug" | "group">): string {
  const isOpen = here.group === title || (here.slug === "index" && ["Start", "Guides"].includes(title));
  const inApi = here.slug.startsWith("api");
  const rows = pages
    .filter(({ nested, file }) => nested !== true || !file.startsWith("api/") || inApi)
    .map((page) => {
      const slug = slugOf(page.file);
      const isHere = slug === here.slug;
      const isAbove = !isHere && here.slug.startsWith(`${slug}/`) && !inApi;
      const current = isHere ? ' aria-current="page"' : isAbove ? ' aria-current="true"' : "";
      const name = slug.startsWith("api/") ? `<code>${page.title}</code>` : page.title;
      return `<li${page.nested === true ? ' class="nested"' : ""}><a href="${hrefTo(here.slug, slug)}"${current}>${name}</a></li>`;
    });
  return `<details${isOpen ? " open" : ""}><summary>${title}</summary><ul>${rows.join("")}</ul></details>`;
}

/** Where a page stands; a decision or example leads back to its overview. */
function crumbs({ group, slug, unlisted }: SitePage): string {
  const [parent = ""] = slug.split("/");
  const name = parent === "adr" ? "Decisions" : parent === "examples" ? "Examples" : "Library API";
  const isBelow = unlisted === true || slug.startsWith("api/");
  const above = isBelow
    ? ` <span aria-hidden="true">/</span> <a href="${hrefTo(slug, parent)}">${name}</a>`
    : "";
  return `<p class="crumbs">${group}${above}</p>`;
}

const outlineRows = (headings: readonly Heading[]): string =>
  headings
    .map(
      ({ level, anchor, text }) => `<li class="l${level}"><a href="#${anchor}">${escapeHtml(text)}</a></li>`,
    )
    .join("");

const outlineHtml = (headings: readonly Heading[]): string =>
  headings.length < 2
    ? '<aside class="outline"></aside>'
    : `<aside class="outline" aria-label="On this page"><p>On this page</p><ul>${outlineRows(headings)}</ul></aside>`;

/** Below the lead, or the title of a page without one. */
const withOutline = (html: string, outline: string): string =>
  html.replace(/^(<h1[\s\S]*?<\/h1>\n(?:<p class="lead">[\s\S]*?<\/p>\n)?)/, (head) => `${head}${outline}\n`);

/** Where the outline at the right has no room. */
const smallOutline = (headings: readonly Heading[]): string =>
  headings.length < 2
    ? ""
    : `<details class="contents"><summary>On this page</summary><ul>${outlineRows(headings)}</ul></details>`;

function neighbors(page: SitePage, listed: readonly SitePage[]): string {
  const at = listed.findIndex(({ slug }) => slug === page.slug);
  const link = (to: SitePage | undefined, rel: "prev" | "next"): string => {
    if (to === undefined) return "<span></span>";
    const word = rel === "prev" ? `${iconOf("left")}Previous` : `Next${iconOf("right")}`;
    return `<a class="${rel}" rel="${rel}" href="${hrefTo(page.slug, to.slug)}"><small>${word}</small>${to.title}</a>`;
  };
  if (at < 0) return "";
  const before = at === 0 ? undefined : listed[at - 1];
  return `<nav class="neighbors" aria-label="Pages">${link(before, "prev")}${link(listed[at + 1], "next")}</nav>`;
}
