/**
 * A session that keeps API documentation true: it sleeps until a commit touches `src/`, reads the change and
 * rewrites the page. It may write `docs/` and nothing else.
 *
 *   npx node --conditions=skein-source examples/api-docs/main.ts
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempDisposableSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEngine } from "skein";
import { rehearsed } from "../rehearsal/rehearsed.ts";
import { until } from "../rehearsal/until.ts";

using folder = mkdtempDisposableSync(join(tmpdir(), "skein-api-docs-"));
const repository = join(folder.path, "repository");
for (const name of ["src", "docs"]) mkdirSync(join(repository, name), { recursive: true });
const git = (...words: string[]): void => {
  const author = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"];
  execFileSync("git", [...author, ...words], { cwd: repository, stdio: "ignore" });
};
const commit = (file: string, text: string, subject: string): void => {
  writeFileSync(join(repository, file), text);
  git("add", ".");
  git("commit", "-m", subject);
};
git("init", "-b", "main");
commit("src/rate.ts", "export const rate = (): number => 4.1;\n", "Add rate");

const { model, models } = rehearsed(({ results }) => {
  const last = results.at(-1);
  if (last === undefined) return { tool: "read_file", input: { path: "src/rate.ts" } };
  if (last.tool === "read_file") {
    const [, name = "?", options = ""] = /export const (\w+) = \(([^)]*)\)/.exec(last.text) ?? [];
    const page = `# API\n\n## ${name}(${options})\n\nReturns the rate.\n`;
    return { tool: "write_file", input: { path: "docs/api.md", text: page } };
  }
  return "docs/api.md describes what src/rate.ts exports now.";
});

await using engine = await openEngine({
  store: join(folder.path, "skein.db"),
  ...(models === undefined ? {} : { models }),
});
const session = await engine.open({
  objective: "Keep docs/api.md true: it describes every function that src/ exports",
  model,
  bind: [{ kind: "directory", path: repository, name: "repository", mode: "write" }],
  grant: [
    { tool: "write_file", rule: "deny", pattern: { path: "src/*" }, reason: "the code is not yours" },
    { tool: "write_file", rule: "allow", pattern: { path: "docs/*" } },
  ],
});
await session.trigger("commits", { kind: "git", path: repository, ref: "main", paths: ["src"] });
await session.sleep();

await using _worker = await engine.work({ name: "api-docs" });
commit("README.md", "# Rates\n", "Add a README"); // not in src/: the session sleeps on
commit("src/rate.ts", "export const rate = (month: string): number => 4.3;\n", "Rates by month");
const page = join(repository, "docs/api.md");
await until(async () => (await Array.fromAsync(session.events({ types: ["turn.ended"] }))).length === 1);

console.log(readFileSync(page, "utf8"));
const inputs = await Array.fromAsync(session.events({ types: ["input.received"] }));
console.log(`woken ${inputs.length} time by a commit`);
if (!readFileSync(page, "utf8").includes("rate(month: string)") || inputs.length !== 1) process.exitCode = 1;
