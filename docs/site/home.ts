/** The home page: what Skein is, the first commands, and links to the next pages. */
import { nav } from "../nav.ts";
import { escapeHtml, highlightCode } from "./highlight.ts";
import { documentHtml, iconOf, type Surroundings } from "./layout.ts";
import { inlineSvg } from "./markdown.ts";
import { hrefTo, slugOf } from "./site-page.ts";

const commands = `npm install && npm start    # server, worker and console
npm run demo                # a two-minute tour`;

const gains: readonly (readonly [title: string, text: string, slug: string])[] = [
  [
    "Crash-safe turns",
    "Kill the process in the middle of a turn. Another one resumes it from the log.",
    "tutorial",
  ],
  ["No double effects", "A tool declares its effect. An unsafe call never runs twice on its own.", "tools"],
  ["Branches", "Fork at any position, rewind files too, merge back what a branch learned.", "concepts"],
  ["Memory", "Facts, decisions and tasks outlive compaction. Handoffs and memory pass them on.", "memory"],
  ["Wakes up", "A time, a file, a commit, a message or a webhook starts the next turn.", "triggers"],
  [
    "Audit and erasure",
    "A hash chain explains every request; content can be erased and the log still verifies.",
    "erasure",
  ],
  ["Budgets", "Money is reserved before a model call and settled after it.", "costs"],
  [
    "Laptop to team",
    "One SQLite file, or PostgreSQL with tenants, tokens and workers on many machines.",
    "postgres",
  ],
];

export function homeHtml(around: Surroundings, program: string): string {
  const to = (slug: string): string => hrefTo("index", slug);
  const cards = gains.map(
    ([title, text, slug]) => `<li><a href="${to(slug)}"><b>${title}</b><span>${text}</span></a></li>`,
  );
  const groups = nav.map(({ title, can, pages }) => {
    const shown = pages.filter(({ nested }) => nested !== true).slice(0, 7);
    const links = shown.map((page) => `<li><a href="${to(slugOf(page.file))}">${page.title}</a></li>`);
    return `<section><h3>${title}</h3><p>After it you can ${escapeHtml(can)}.</p><ul>${links.join("")}</ul></section>`;
  });
  const body = `<main id="content" tabindex="-1">
<div class="hero">
<h1>Agent sessions that survive crashes</h1>
<p class="lead">Skein runs AI agents and records every step in a durable log. A session survives crashes, never
repeats an unsafe tool call on its own, stays within its budget, and can be forked, rewound, merged, audited
and erased.</p>
<p class="actions"><a class="button primary" href="${to("tutorial")}">Start the tutorial</a>
<a class="button" href="${to("install")}">Install</a><a class="button" href="${to("concepts")}">How it works</a></p>
</div>
<p class="hero-picture">${inlineSvg("docs/images/strand.svg", strandText)}</p>
<div class="two">${code("sh", commands)}${code("ts", program)}</div>
<h2>What you get</h2>
<ul class="cards">${cards.join("")}</ul>
<h2>Read on</h2>
<div class="columns">${groups.join("")}</div>
</main>`;
  const page = { slug: "index", group: "", can: "" };
  return documentHtml(page, around, { title: "Skein docs", kind: "home", body });
}

export function missingHtml(around: Surroundings): string {
  const body = `<main id="content" tabindex="-1"><article><h1>Page not found</h1>
<p class="lead">No page of the docs has this address.</p>
<p class="actions"><a class="button primary" href="./">Home</a>
<button type="button" class="button" data-search>${iconOf("search")}Search</button></p></article></main>`;
  return documentHtml({ slug: "404", group: "", can: "" }, around, {
    title: "Page not found · Skein",
    kind: "page",
    body,
  });
}

const strandText =
  "A session in time: a turn of model calls above the line and tool calls below it, a crash, a resumed turn, a " +
  "fork that leaves the line and merges back, and an approval that waits for a person.";

const code = (language: string, text: string): string =>
  `<div class="code${language === "sh" ? " terminal" : ""}" data-language="${language === "sh" ? "Terminal" : "TypeScript"}">` +
  `<button type="button" class="copy" aria-label="Copy">Copy</button>` +
  `<pre tabindex="0"><code>${highlightCode(text.trimEnd(), language)}</code></pre></div>`;
