/** Builds the docs site into a folder: pages, assets and the sections that search reads. */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { build } from "vite";
import { checkSite } from "./check-links.ts";
import { readContents } from "./contents.ts";
import { homeHtml, missingHtml } from "./home.ts";
import { pageHtml, type SiteAssets, type Surroundings } from "./layout.ts";
import { renderPage } from "./markdown.ts";
import type { SearchSection } from "./browser/sections.ts";

const root = join(import.meta.dirname, "..", "..");

export interface BuiltSite {
  readonly files: ReadonlyMap<string, string | Uint8Array>;
  readonly bytes: number;
}

/** Throws when a link, an anchor or the content security policy is broken. */
export async function buildSite(): Promise<BuiltSite> {
  const [{ pages, targets }, bundle] = await Promise.all([readContents(), bundleAssets()]);
  const files = new Map<string, string | Uint8Array>(bundle.files);
  const rendered = pages.map((page) => ({ page, made: renderPage(page, targets) }));
  const sections: SearchSection[] = rendered.flatMap(({ page, made }) =>
    made.sections.map(({ anchor, heading, text }, at) => ({
      page: page.slug,
      title: page.title,
      group: page.group,
      anchor: at === 0 ? "" : anchor,
      heading: at === 0 ? "" : heading,
      text: at === 0 && page.can !== "" ? `${page.can}. ${text}` : text,
    })),
  );
  const icon = readFileSync(join(root, "src/console/public/icon.svg"));
  const assets: SiteAssets = {
    ...bundle.assets,
    icon: addHashed(files, "icon.svg", icon),
    sections: addHashed(files, "sections.json", JSON.stringify(sections)),
  };
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  const around: Surroundings = { assets, version, listed: pages.filter(({ unlisted }) => unlisted !== true) };
  files.set("index.html", homeHtml(around, firstProgram()));
  files.set("404.html", missingHtml(around));
  for (const { page, made } of rendered) {
    files.set(`${page.slug}.html`, pageHtml(page, made, around));
    for (const image of made.images) files.set(`images/${basename(image)}`, readFileSync(join(root, image)));
  }
  const broken = checkSite(files);
  if (broken.length > 0) throw new Error(`the docs site is broken:\n${broken.join("\n")}`);
  const bytes = [...files.values()].reduce((sum, one) => sum + Buffer.byteLength(one), 0);
  return { files, bytes };
}

export function writeSite({ files }: BuiltSite, folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  for (const [path, content] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}

/** The program of the README that a reader sees first. */
function firstProgram(): string {
  const [, code = ""] = /```ts\n([\s\S]*?)```/.exec(readFileSync(join(root, "README.md"), "utf8")) ?? [];
  return code;
}

/** The name changes with the content, so that browsers keep it for ever. */
function addHashed(
  files: Map<string, string | Uint8Array>,
  name: string,
  content: string | Uint8Array,
): string {
  const digest = createHash("sha256").update(content).digest("base64url").replaceAll(/[-_]/g, "").slice(0, 8);
  const path = `assets/${name.replace(".", `-${digest}.`)}`;
  files.set(path, content);
  return path;
}

interface Output {
  readonly fileName: string;
  readonly name?: string | undefined;
  readonly code?: string;
  readonly source?: string | Uint8Array;
}

async function bundleAssets() {
  const folder = join(import.meta.dirname, "browser");
  const input = { site: join(folder, "main.ts"), theme: join(folder, "theme.ts") };
  const made = await build({
    root: folder,
    configFile: false,
    publicDir: false,
    base: "./",
    logLevel: "error",
    build: {
      write: false,
      modulePreload: false,
      rolldownOptions: {
        input,
        output: { entryFileNames: "assets/[name]-[hash].js", chunkFileNames: "assets/[name]-[hash].js" },
      },
    },
  });
  const { output } = (Array.isArray(made) ? made[0] : made) as { readonly output: readonly Output[] };
  const files = output.map(({ fileName, code, source }) => [fileName, code ?? source ?? ""] as const);
  const fileLike = (like: RegExp): string => files.find(([name]) => like.test(name))?.[0] ?? "";
  return {
    files,
    assets: {
      style: fileLike(/\.css$/),
      theme: fileLike(/\/theme-/),
      script: fileLike(/\/site-.*\.js$/),
    },
  };
}
