/** Runs a long command with the shell tool and says its process id, until somebody kills this process. */
import { tmpdir } from "node:os";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { realWorld } from "../../src/runtime/world.ts";
import { shellTools } from "../../src/tool/shell.ts";

const cwd = tmpdir();
const file = join(cwd, `skein-shell-${process.pid}`);
const [shell] = await shellTools(realWorld(), [{ kind: "shell", name: "shell", mode: "read", path: cwd }]);
const call = { key: "k", session: "s", seq: 1, signal: new AbortController().signal };
const command = `echo $$ > ${file}.part; mv ${file}.part ${file}; sleep 60`;
void shell?.run({ command, timeoutSeconds: 60 }, call);
for (let pid = ""; pid === ""; await setTimeout(20)) {
  try {
    pid = readFileSync(file, "utf8").trim();
    rmSync(file);
    console.log(pid);
  } catch {
    // Not there yet.
  }
}
