/**
 * The tutorial is true: every command of docs/tutorial.md runs in an empty folder, in order, and prints what
 * the page shows. `…` in an output stands for anything, alone on a line for any lines.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { blocksOf } from "../repo/markdown.ts";
import { root } from "../repo/source.ts";

interface Step {
  readonly commands: string;
  readonly shown: string;
}

const text = readFileSync(join(root, "docs/tutorial.md"), "utf8");

/** Each block of commands with the output that follows it. */
function stepsOf(page: string): Step[] {
  const steps: { commands: string; shown: string }[] = [];
  for (const { marks, code } of blocksOf({ path: "docs/tutorial.md", text: page })) {
    if (marks[0] === "sh") steps.push({ commands: code, shown: "" });
    const last = steps.at(-1);
    if (marks[0] === "text" && last !== undefined) last.shown = code;
  }
  return steps;
}

/** `sleep` waits for what the page waits for: the turn that is to be killed, however slow the machine is. */
const prelude = `
sleep() {
  for _ in $(seq 100); do
    command sleep 1
    case $(skein log $ID --from 25) in *model.requested*) return ;; esac
  done
}
`;

test("the commands of the tutorial run and print the output shown", { timeout: 120_000 }, () => {
  const steps = stepsOf(text);
  assert.ok(steps.length >= 7 && text.includes("kill -9 $!"), "the tutorial kills a turn");
  const folder = mkdtempSync(join(tmpdir(), "skein-tutorial-"));
  const mark = "--- end of a step";
  const script = [prelude, ...steps.flatMap(({ commands }) => [commands, `echo "${mark}"`])].join("\n");
  const env = {
    PATH: `${join(root, "bin")}${delimiter}${process.env["PATH"] ?? ""}`,
    HOME: folder,
    NO_COLOR: "1",
    NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
  };
  try {
    const { stdout, status } = spawnSync("bash", ["-c", `exec 2>&1\n${script}`], {
      cwd: folder,
      env,
      encoding: "utf8",
    });
    assert.equal(status, 0, stdout);
    const printed = stdout.split(`${mark}\n`);
    steps.forEach(({ commands, shown }, at) => {
      const missing = missingLine(shown, printed[at] ?? "");
      assert.equal(missing, null, `${commands}\nprints no line\n${missing}\nbut\n${printed[at]}`);
    });
    assert.doesNotMatch(stdout, /SkeinError|command not found/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a line that is not printed is found", () => {
  assert.equal(missingLine("a …\n…\nc", "a 1\nb\nc\n"), null);
  assert.equal(missingLine("a\nd", "a\nb\n"), "d");
  assert.equal(missingLine("c\na", "a\nc\n"), "a");
});

/** The first line of the page that is not printed, in order. */
function missingLine(shown: string, printed: string): string | null {
  const lines = printed.split("\n");
  let from = 0;
  for (const line of shown.split("\n").filter((one) => one.trim() !== "" && one.trim() !== "…")) {
    const pieces = line
      .trim()
      .split("…")
      .map((piece) => piece.trim().replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const like = new RegExp(`^\\s*${pieces.join(".*")}\\s*$`);
    const at = lines.findIndex((one, place) => place >= from && like.test(one));
    if (at < 0) return line;
    from = at + 1;
  }
  return null;
}
