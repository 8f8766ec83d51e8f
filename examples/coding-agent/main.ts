/**
 * A coding agent in a sandbox: it reads and edits one directory, runs commands without network or home
 * directory, and asks a person before it touches git history. Needs bubblewrap (Debian: `apt-get install
 * bubblewrap`).
 *
 *   npx node --conditions=skein-source examples/coding-agent/main.ts
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempDisposableSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEngine, type Session } from "skein";
import { rehearsed } from "../rehearsal/rehearsed.ts";

using folder = mkdtempDisposableSync(join(tmpdir(), "skein-coding-"));
const project = join(folder.path, "project");
mkdirSync(project);
writeFileSync(join(project, "sum.sh"), "echo $(( $1 - $2 ))\n");
execFileSync("git", ["init", "-q", "-b", "main"], { cwd: project });

const git = "git -c user.name=Agent -c user.email=agent@example.org";
const save = `${git} add . && ${git} commit -qm 'Fix the sum' && git log --oneline | wc -l`;
const steps = [
  { tool: "shell", input: { command: "sh sum.sh 2 3" } },
  { tool: "edit_file", input: { path: "sum.sh", find: "$1 - $2", replace: "$1 + $2" } },
  { tool: "shell", input: { command: "sh sum.sh 2 3; ls /home | wc -l" } },
  { tool: "shell", input: { command: save } },
];
const { model, models } = rehearsed(({ results }) => {
  const next = steps[results.length];
  return next ?? `Fixed and committed: ${results.map(({ text }) => text.trim().split("\n")[0]).join(" | ")}`;
});

await using engine = await openEngine({
  store: join(folder.path, "skein.db"),
  ...(models === undefined ? {} : { models }),
});
const session = await engine.open({
  objective: "Fix sum.sh: 2 and 3 must give 5",
  model,
  bind: [
    { kind: "directory", path: project, mode: "write" },
    { kind: "shell", path: project, mode: "write", sandbox: true },
  ],
  grant: [{ tool: "shell", rule: "ask", pattern: { command: "git *" }, reason: "a person sees commits" }],
  budget: { usd: 1, steps: 40 },
});

for await (const update of session.ask("Fix it, test it, commit it.")) show(update);
console.log(`status: ${(await session.state()).status}`);
await approve(session);
console.log(`sum.sh: ${readFileSync(join(project, "sum.sh"), "utf8").trim()}`);
const commits = execFileSync("git", ["rev-list", "--count", "HEAD"], {
  cwd: project,
  encoding: "utf8",
}).trim();
console.log(`commits: ${commits}`);
if (commits !== "1") process.exitCode = 1;

async function approve(waiting: Session): Promise<void> {
  if ((await waiting.state()).status !== "suspended") throw new Error("the commit did not ask");
  const { seq } = await waiting.answer({ allow: true, reason: "the change is right" });
  await waiting.run();
  for await (const event of waiting.events({ fromSeq: seq })) show(event);
}

function show(update: { readonly type: string; readonly content?: unknown }): void {
  if (update.type === "tool.settled") console.log(JSON.stringify(update.content));
}
