/** The pages of the site: those of the navigation in its order, then decisions and examples. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { nav } from "../nav.ts";
import { describeApi } from "./api-reference.ts";
import { verbAnchors } from "../describe-cli.ts";
import { examplePages } from "./examples.ts";
import type { LinkTargets } from "./markdown.ts";
import { slugOf, type SitePage } from "./site-page.ts";

const root = join(import.meta.dirname, "..", "..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

export interface SiteContents {
  readonly pages: readonly SitePage[];
  readonly targets: LinkTargets;
}

export async function readContents(): Promise<SiteContents> {
  const api = describeApi();
  const decisions = decisionPages();
  const [examples, exampleOnes] = examplePages("Start");
  const generated = new Map([...api.pages, ["adr", decisionOverview(decisions)], ["examples", examples]]);
  const listed = nav.flatMap(({ title: group, pages }) =>
    pages.map(({ file, title, can, picture, nested }): SitePage => {
      const made = generated.get(file);
      const folders: Readonly<Record<string, string>> = { adr: "docs/adr/x", examples: "examples/x" };
      return {
        slug: slugOf(file),
        file: made === undefined ? file : (folders[file] ?? null),
        title,
        can,
        group,
        markdown: made ?? read(file),
        ...(picture === undefined ? {} : { picture }),
        ...(nested === undefined ? {} : { nested }),
      };
    }),
  );
  const missing = [...generated.keys()].filter((slug) => !listed.some((one) => one.slug === slug));
  if (missing.length > 0) throw new Error(`docs/nav.ts: ${missing.join(", ")} is not listed`);
  const pages = [...listed, ...decisions, ...exampleOnes];
  return {
    pages,
    targets: {
      pages: targetsOf(pages),
      titles: titlesOf(pages),
      names: api.names,
      verbs: await verbAnchors(),
    },
  };
}

/** The page that each file of the repository is shown on; folders have their overview. */
function targetsOf(pages: readonly SitePage[]): Map<string, string> {
  const targets = new Map(pages.flatMap(({ file, slug }) => (file === null ? [] : [[file, slug]])));
  const folders = exampleFolders(pages);
  return new Map([
    ...targets,
    ...folders,
    ["README.md", "index"],
    ["docs", "index"],
    ["docs/adr", "adr"],
    ["examples", "examples"],
  ]);
}

const titlesOf = (pages: readonly SitePage[]): ReadonlyMap<string, string> =>
  new Map(pages.flatMap(({ file, title }) => (file === null ? [] : [[file, title]])));

const exampleFolders = (pages: readonly SitePage[]): [string, string][] =>
  pages.flatMap(({ file, slug }): [string, string][] =>
    file?.startsWith("examples/") === true && file.endsWith("/README.md")
      ? [[file.replace("/README.md", ""), slug]]
      : [],
  );

function decisionPages(): SitePage[] {
  return globSync("docs/adr/*.md", { cwd: root })
    .toSorted()
    .map((file): SitePage => {
      const markdown = read(file);
      const [, title = file] = /^# (.+)$/m.exec(markdown) ?? [];
      return { slug: slugOf(file), file, title, can: "", group: "Internals", markdown, unlisted: true };
    });
}

function decisionOverview(decisions: readonly SitePage[]): string {
  const rows = decisions.map(({ title, file, markdown }) => {
    const [, number = "", name = title] = /^(\d+)\. (.+)$/.exec(title) ?? [];
    const isReplaced = /^Status: replaced/m.test(markdown);
    return `| ${number} | [${name}](${file?.replace("docs/adr/", "") ?? ""})${isReplaced ? ", replaced" : ""} |`;
  });
  const intro = "Choices that are cheap to make and expensive to undo, each with its alternatives.";
  return ["# Decisions", "", intro, "", "| number | decision |", "|---|---|", ...rows].join("\n");
}
