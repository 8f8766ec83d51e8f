/** The docs site builds, is complete and stays small: every page, name and verb, and no broken link. */
import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { before, suite, test } from "node:test";
import { nav } from "../../docs/nav.ts";
import { buildSite, type BuiltSite } from "../../docs/site/build.ts";
import { checkSite } from "../../docs/site/check-links.ts";
import type { SearchSection } from "../../docs/site/browser/sections.ts";
import { slugOf } from "../../docs/site/site-page.ts";
import { verbNames } from "../../src/cli/command/verbs.ts";
import { makeModules, publicNames } from "./closure.ts";
import { root } from "./source.ts";

/** All files together, compressed, in the package: 184 files take 1.46 MB, search included. */
const packedBytesMax = 1_600_000;

suite("the docs site", () => {
  let site: BuiltSite;
  const page = (slug: string): string => String(site.files.get(`${slug}.html`) ?? assert.fail(`no ${slug}`));
  before(async () => {
    // Throws when a link or an anchor leads nowhere.
    site = await buildSite();
  });

  test("every page of docs is in docs/nav.ts, and every page of docs/nav.ts is built", () => {
    const listed = nav.flatMap(({ pages }) => pages.map(({ file }) => file));
    const pages = globSync("docs/*.md", { cwd: root });
    assert.deepEqual(
      pages.filter((file) => !listed.includes(file)),
      [],
      "give it a place in docs/nav.ts",
    );
    assert.deepEqual(new Set(listed).size, listed.length);
    for (const file of listed) page(slugOf(file));
    for (const file of globSync("{docs/adr/*.md,examples/*.ts}", { cwd: root })) page(slugOf(file));
  });

  test("every page has a title, a lead with its use, and the navigation", () => {
    for (const { pages } of nav)
      for (const { file, can } of pages) {
        const html = page(slugOf(file));
        assert.match(html, /<h1 id="[^"]+">/, file);
        assert.match(html, /<p class="lead">After (this page|it) you /, file);
        assert.match(html, /<nav id="nav"[\s\S]* aria-current="page"/, file);
        assert.match(can, /^[a-z].*[^.]$/, `${file}: completes "After this page you can …"`);
      }
  });

  test("the reference has every exported name and every verb", async () => {
    for (const { exported, subpath } of publicNames(makeModules())) {
      const slug = subpath === "." ? "api/skein" : `api/skein-${subpath.slice(2)}`;
      assert.match(page(slug), new RegExp(`<h2 id="${exported.toLowerCase()}(-1)?">${exported}<`), exported);
    }
    for (const verb of await verbNames()) assert.match(page("cli"), new RegExp(`<h3 id="skein-${verb}">`));
    for (const method of ["ask", "fork", "rewind", "events", "answer"])
      assert.match(page("api/session"), new RegExp(`<h2 id="${method}">`));
  });

  test("search has a section for each page, and finds words of code", () => {
    const path = [...site.files.keys()].find((one) => /sections-.*\.json$/.test(one)) ?? "";
    const sections = JSON.parse(String(site.files.get(path))) as readonly SearchSection[];
    const pages = new Set(sections.map((section) => section.page));
    for (const slug of nav.flatMap((group) => group.pages.map(({ file }) => slugOf(file))))
      assert.ok(pages.has(slug), slug);
    assert.ok(sections.some(({ heading, text }) => heading === "5. Kill a turn" && text.includes("kill -9")));
  });

  test("it stays small, and needs nothing of other hosts", () => {
    const packed = [...site.files.values()].reduce((sum, one) => sum + gzipSync(one).length, 0);
    assert.ok(packed < packedBytesMax, `${packed} bytes`);
    for (const [path, text] of site.files)
      if (path.endsWith(".html"))
        assert.doesNotMatch(String(text), /<(script|link|img)[^>]*(src|href)="https?:/, path);
  });
});

test("broken links, broken anchors and content against the security policy are found", () => {
  const html = (body: string) => `<main id="content">${body}</main>`;
  const good = new Map([
    ["index.html", html('<a href="a/b.html#x">b</a> <a href="/">console</a> <a href="https://x.org">x</a>')],
    ["a/b.html", html('<h2 id="x"></h2><a href="../">home</a><a href="#x">x</a>')],
  ]);
  assert.deepEqual(checkSite(good), []);
  const bad = html('<a href="c.html">c</a><a href="#y">y</a><script>1</script><i style="color:red"></i>');
  assert.deepEqual(checkSite(new Map([["index.html", bad]])), [
    "index.html: c.html does not exist",
    "index.html: #y has no such heading",
    "index.html: an inline script",
    "index.html: an inline style",
  ]);
});
