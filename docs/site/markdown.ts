/** Renders a page's Markdown to HTML, with its outline and the sections that search finds. */
import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import MarkdownIt from "markdown-it";
import type { Token } from "markdown-it";
import { escapeHtml, highlightCode, linkNames } from "./highlight.ts";
import { assetTo, hrefTo, makeAnchors, type SitePage } from "./site-page.ts";

const root = join(import.meta.dirname, "..", "..");

export interface Heading {
  readonly level: number;
  readonly anchor: string;
  readonly text: string;
}

/** A part of a page that search finds: a heading and what stands below it. */
export interface Section {
  readonly anchor: string;
  readonly heading: string;
  readonly text: string;
}

export interface RenderedPage {
  readonly html: string;
  readonly headings: readonly Heading[];
  readonly sections: readonly Section[];
  /** Pictures that the page shows, from the root of the repository. */
  readonly images: readonly string[];
}

/** What a page may link to. */
export interface LinkTargets {
  /** By source file: `docs/tools.md`, `docs/adr`, `examples/ask.ts`. */
  readonly pages: ReadonlyMap<string, string>;
  /** The title of each of these pages. */
  readonly titles: ReadonlyMap<string, string>;
  /** Exported names: where the library reference describes each. */
  readonly names: ReadonlyMap<string, { readonly slug: string; readonly anchor: string }>;
  /** Verbs of the command line: the anchor of each. */
  readonly verbs: ReadonlyMap<string, string>;
}

interface Env {
  readonly page: SitePage;
  readonly targets: LinkTargets;
  readonly anchorOf: (heading: string) => string;
  readonly headings: Heading[];
  readonly images: Set<string>;
  /** Closing tags of links that lead nowhere on the site are dropped with their opening ones. */
  readonly open: boolean[];
  [key: string | symbol]: unknown;
}

/** A field of an interface or an option of a verb, as the fence `members` holds it in JSON. */
export interface Member {
  readonly name: string;
  readonly type: string;
  readonly text: string;
  readonly tag?: string;
}

const md = new MarkdownIt({ html: false, linkify: false, typographer: false });
const rules = md.renderer.rules;

const envOf = (env: unknown): Env => env as Env;

/** The plain text of an inline token. */
const plainText = (token: Token | undefined): string =>
  (token?.children ?? [])
    .map((one) =>
      ["text", "code_inline", "code_plain"].includes(one.type)
        ? one.content
        : one.type === "softbreak"
          ? " "
          : "",
    )
    .join("");

rules.heading_open = (tokens, at, _options, given) => {
  const { anchorOf, headings } = envOf(given);
  const text = plainText(tokens[at + 1]);
  const anchor = anchorOf(text);
  const tag = tokens[at]?.tag ?? "h2";
  headings.push({ level: Number(tag.slice(1)), anchor, text });
  return `<${tag} id="${anchor}">`;
};
rules.heading_close = (tokens, at, _options, given) => {
  const { headings } = envOf(given);
  const { anchor = "", text = "" } = headings.at(-1) ?? {};
  const tag = tokens[at]?.tag ?? "h2";
  const link = `<a class="anchor" href="#${anchor}" aria-label="Link to ${escapeHtml(text)}">#</a>`;
  return `${tag === "h1" ? "" : link}</${tag}>\n`;
};

rules.link_open = (tokens, at, _options, given) => {
  const env = envOf(given);
  const href = resolveLink(String(tokens[at]?.attrGet("href") ?? ""), env);
  env.open.push(href !== null);
  nameLink(tokens, at, env);
  if (href === null) return `<span class="path" title="In the repository">`;
  const isOther = /^[a-z]+:/i.test(href);
  return `<a href="${escapeHtml(href)}"${isOther ? ' rel="noreferrer"' : ""}>`;
};
rules.link_close = (_tokens, _at, _options, given) => (envOf(given).open.pop() === true ? "</a>" : "</span>");

/** A link that GitHub shows as `workers.md` has the title of its page here. */
function nameLink(tokens: readonly Token[], at: number, { page, targets }: Env): void {
  const text = tokens[at + 1];
  const [path = ""] = String(tokens[at]?.attrGet("href") ?? "").split("#");
  if (text?.type !== "text" || page.file === null || text.content !== posix.basename(path)) return;
  const file = posix.join(posix.dirname(page.file), path);
  text.content = targets.titles.get(file) ?? text.content;
}

/** Null for a file of the repository that the site does not show. */
function resolveLink(href: string, { page, targets }: Env): string | null {
  if (/^[a-z]+:/i.test(href)) return href;
  const [path = "", anchor = ""] = href.split("#");
  if (path === "") return `#${anchor}`;
  if (page.file === null) return href;
  const file = posix.normalize(posix.join(posix.dirname(page.file), path)).replace(/\/$/, "");
  const slug = targets.pages.get(file);
  if (slug !== undefined) return hrefTo(page.slug, slug, anchor);
  if (existsSync(join(root, file))) return null;
  throw new Error(`${page.file}: ${href} does not exist`);
}

rules.image = (tokens, at, _options, given) => {
  const { page, images } = envOf(given);
  const source = String(tokens[at]?.attrGet("src") ?? "");
  const alt = tokens[at]?.content ?? "";
  const file = posix.join(posix.dirname(page.file ?? "docs/x.md"), source);
  if (file.endsWith(".svg")) return inlineSvg(file, alt);
  images.add(file);
  const { width, height } = pngSize(readFileSync(join(root, file)));
  const address = assetTo(page.slug, `images/${posix.basename(file)}`);
  const size = `width="${width}" height="${height}"`;
  return `<img src="${address}" alt="${escapeHtml(alt)}" ${size} loading="lazy" decoding="async">`;
};

/** Drawn by the page's own stylesheet, so that it follows the theme that the reader chose. */
export function inlineSvg(file: string, alt: string): string {
  const text = readFileSync(join(root, file), "utf8")
    .replace(/<\?xml[^>]*>\s*/, "")
    .replace(/<style>[\s\S]*?<\/style>\s*/, "")
    .replace(/<title>[\s\S]*?<\/title>\s*/, "")
    .replace("<svg", `<svg role="img" aria-label="${escapeHtml(alt)}"`);
  return `<span class="figure" tabindex="0">${text.replaceAll(/\n\s*/g, "\n").trim()}</span>`;
}

const pngSize = (bytes: Buffer): { readonly width: number; readonly height: number } => ({
  width: bytes.readUInt32BE(16),
  height: bytes.readUInt32BE(20),
});

rules.fence = (tokens, at, _options, given) => {
  const env = envOf(given);
  const { content = "", info = "" } = tokens[at] ?? {};
  const [language = "", ...marks] = info.trim().split(/\s+/);
  if (language === "members")
    return memberList(JSON.parse(content) as readonly Member[], env, marks.includes("options"));
  const isShell = language === "sh" || (language === "" && /^(skein|npm|node|curl) /.test(content));
  const colored = highlightCode(content.trimEnd(), isShell ? "sh" : language);
  const html = marks.includes("api") ? linkNames(colored, (name) => nameHref(name, env)) : colored;
  const kind = isShell ? "code terminal" : "code";
  const label = isShell ? "Terminal" : ({ ts: "TypeScript", text: "Output" }[language] ?? language);
  return (
    `<div class="${kind}" data-language="${escapeHtml(label)}">` +
    `<button type="button" class="copy" aria-label="Copy">Copy</button>` +
    `<pre tabindex="0"><code>${html}</code></pre></div>\n`
  );
};

function memberList(members: readonly Member[], env: Env, areOptions: boolean): string {
  const rows = members.map(({ name, type, text, tag }) => {
    const colored = areOptions ? escapeHtml(type) : highlightCode(type, "ts");
    const typed = areOptions ? colored : linkNames(colored, (one) => nameHref(one, env));
    const described = text === "" ? "" : `<div>${md.render(text, { ...env, headings: [] })}</div>`;
    const mark = tag === undefined ? "" : ` <span class="tag">${escapeHtml(tag)}</span>`;
    const kind = type === "" ? "" : ` <code class="of">${typed}</code>`;
    return `<dt><code>${escapeHtml(name)}</code>${kind}${mark}</dt><dd>${described}</dd>`;
  });
  return `<dl class="members${areOptions ? " options" : ""}">${rows.join("")}</dl>\n`;
}

function nameHref(name: string, { page, targets }: Env): string | undefined {
  const found = targets.names.get(name);
  return found === undefined ? undefined : hrefTo(page.slug, found.slug, found.anchor);
}

/** `engine.fork()`, `defineTool` and `skein fork` lead to their reference. */
rules.code_inline = (tokens, at, _options, given) => {
  const env = envOf(given);
  const text = tokens[at]?.content ?? "";
  const html = `<code>${escapeHtml(text)}</code>`;
  const isLinked = tokens.slice(0, at).filter(({ type }) => type === "link_open").length;
  const isClosed = tokens.slice(0, at).filter(({ type }) => type === "link_close").length;
  if (isLinked !== isClosed) return html;
  const [, verb = ""] = /^skein ([a-z]+)(?: |$)/.exec(text) ?? [];
  const anchor = targetsVerb(verb, env);
  if (anchor !== undefined)
    return `<a class="ref" href="${hrefTo(env.page.slug, "cli", anchor)}">${html}</a>`;
  const [, name = ""] = /^((?:engine\.|session\.)?\w+)(?:\(.*\))?$/.exec(text) ?? [];
  // A single word may mean something else: `Store` of another system, `limit` of a call.
  const href = /^[A-Z]?[a-z]+$/.test(name) ? undefined : nameHref(name, env);
  return href === undefined || href.startsWith("#") ? html : `<a class="ref" href="${href}">${html}</a>`;
};

const targetsVerb = (verb: string, { page, targets }: Env): string | undefined =>
  page.slug === "cli" ? undefined : targets.verbs.get(verb);

rules.table_open = () => `<div class="table" tabindex="0"><table>\n`;
rules.table_close = () => `</table></div>\n`;

const alerts = /^\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\]\s*/;

/** GitHub's alerts: `> [!NOTE]`. */
rules.blockquote_open = (tokens, at) => {
  const inline = tokens[at + 2];
  const [mark, kind = ""] = alerts.exec(inline?.content ?? "") ?? [];
  if (mark === undefined || inline === undefined) return "<blockquote>\n";
  const [first] = inline.children ?? [];
  if (first !== undefined) first.content = first.content.replace(alerts, "");
  const title = `${kind[0] ?? ""}${kind.slice(1).toLowerCase()}`;
  return `<blockquote class="alert ${kind.toLowerCase()}"><p class="alert-title">${title}</p>\n`;
};

/** What a page says the reader can do after it. */
const ownLead = /^After (?:this page|it) you /;

export function renderPage(page: SitePage, targets: LinkTargets): RenderedPage {
  const env: Env = {
    page,
    targets,
    anchorOf: makeAnchors(),
    headings: [],
    images: new Set(),
    open: [],
  };
  const tokens = md.parse(page.markdown, env);
  markHeadings(tokens);
  const sections = sectionsOf(tokens);
  const hasLead = tokens[3]?.type === "paragraph_open" && ownLead.test(tokens[4]?.content ?? "");
  if (hasLead) tokens[3]?.attrSet("class", "lead");
  const body = md.renderer.render(tokens, md.options, env);
  const lead = hasLead || page.can === "" ? "" : `<p class="lead">After this page you can ${page.can}.</p>\n`;
  const picture = page.picture === undefined ? "" : `<p>${pictureOf(page)}</p>\n`;
  const html = body.replace(/(<h1[\s\S]*?<\/h1>\n)([\s\S]*)$/, (_, title: string, rest: string) =>
    hasLead
      ? `${title}${rest.replace(/^(<p class="lead">[\s\S]*?<\/p>\n)/, `$1${picture}`)}`
      : `${title}${lead}${picture}${rest}`,
  );
  return { html, headings: env.headings, sections, images: [...env.images] };
}

/** The text that a picture says itself, for readers who do not see it. */
function pictureOf({ picture = "" }: SitePage): string {
  const file = `docs/images/${picture}`;
  const [, title = ""] = /<title>([\s\S]*?)<\/title>/.exec(readFileSync(join(root, file), "utf8")) ?? [];
  return inlineSvg(file, title);
}

/** Code in headings links nowhere: a heading has its own anchor. */
function markHeadings(tokens: readonly Token[]): void {
  tokens.forEach((token, at) => {
    if (token.type !== "inline" || tokens[at - 1]?.type !== "heading_open") return;
    for (const child of token.children ?? []) if (child.type === "code_inline") child.type = "code_plain";
  });
}
rules["code_plain"] = (tokens, at) => `<code>${escapeHtml(tokens[at]?.content ?? "")}</code>`;

const codeCharsMax = 300;

function sectionsOf(tokens: readonly Token[]): Section[] {
  const anchorOf = makeAnchors();
  const sections: { anchor: string; heading: string; text: string[] }[] = [];
  tokens.forEach((token, at) => {
    const isHeading = tokens[at - 1]?.type === "heading_open";
    if (isHeading) {
      const heading = plainText(token);
      const anchor = anchorOf(heading);
      if (Number(tokens[at - 1]?.tag.slice(1)) <= 3) sections.push({ anchor, heading, text: [] });
      return;
    }
    const text = sections.at(-1)?.text;
    if (token.type === "inline") text?.push(plainText(token));
    if (token.type !== "fence") return;
    if (token.info.startsWith("members"))
      for (const one of JSON.parse(token.content) as readonly Member[])
        text?.push(`${one.name} ${one.text.replaceAll("`", "")}`);
    else text?.push(token.content.slice(0, codeCharsMax));
  });
  return sections.map(({ anchor, heading, text }) => ({
    anchor,
    heading,
    text: text.join(" ").replaceAll(/\s+/g, " ").trim(),
  }));
}
