/**
 * A session that answers, and survives: the first process is killed in the middle of a turn, right after a
 * tool was started. The second one asks something new; what was unfinished is brought to its end first. The
 * model is the offline one, so no key is needed; with a key in the environment, leave out `model`.
 *
 *   npx node --conditions=skein-source examples/ask.ts
 */
import { spawnSync } from "node:child_process";
import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEngine } from "skein";

const [folder, part] = process.argv.slice(2);
if (folder === undefined) {
  using made = mkdtempDisposableSync(join(tmpdir(), "skein-"));
  writeFileSync(join(made.path, "rates.json"), '{ "base": 4.1 }\n');
  for (const which of ["first", "second"]) {
    const args = [...process.execArgv, import.meta.filename, made.path, which];
    const { signal, status } = spawnSync(process.execPath, args, { stdio: "inherit" });
    console.log(signal === null ? `ended with ${status}` : `killed by ${signal}`);
    if (which === "second") process.exitCode = status ?? 1;
  }
} else {
  // Whose process of this machine is gone holds nothing up; one elsewhere is missed when its lease runs out.
  await using engine = await openEngine({ store: join(folder, "skein.db") });
  if (part === "first") {
    const bind = [{ kind: "directory", path: folder }] as const;
    const session = await engine.open({ objective: "Keep the rates", model: "offline/offline", bind });
    for await (const update of session.ask("read rates.json and then remember base-rate is 4.1")) {
      if (update.type === "tool.started") process.kill(process.pid, "SIGKILL");
    }
  } else {
    const { rows } = await engine.sessions({ limit: 1 });
    const session = await engine.session(rows[0]?.session ?? "");
    // Events come as they are written, deltas as the model says them. Breaking off would cancel nothing.
    for await (const update of session.ask("what is base-rate?")) {
      if ("delta" in update) process.stdout.write(update.delta.type === "text" ? update.delta.text : "");
      else console.log(`${update.type === "model.responded" ? "\n" : ""}${update.seq} ${update.type}`);
    }
    const { status, items, budget } = await session.state();
    const known = items.map(({ key, value }) => `${key} = ${String(value)}`).join(", ");
    console.log(`${status}; ${known}; ${budget.used.turns} turns, ${budget.used.toolCalls} tool calls`);
    if (status !== "open" || known !== "base-rate = 4.1") process.exitCode = 1;
  }
}
