/** The shell tool: what it runs, what it reports, and that nothing it started is left. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { realWorld } from "../../src/runtime/world.ts";
import { makeCapture } from "../../src/tool/capture.ts";
import type { OuterTool } from "../../src/tool/port.ts";
import type { McpWorld } from "../../src/tool/mcp-stdio.ts";
import { shellTools } from "../../src/tool/shell.ts";
import { callTool, failure, openFolder } from "./calling.ts";

const secrets: Readonly<Record<string, string>> = { TOKEN: "s3cr3t-value", PATH: process.env["PATH"] ?? "" };
const world: McpWorld = { ...realWorld(), secret: (name) => secrets[name] };

async function openShell(): Promise<
  AsyncDisposable & {
    readonly path: string;
    readonly tools: readonly OuterTool[];
    run(command: string, more?: object): ReturnType<typeof callTool>;
  }
> {
  const folder = await openFolder();
  const tools = await shellTools(world, [
    { kind: "shell", name: "shell", mode: "write", path: folder.path, secrets: ["TOKEN"] },
  ]);
  return { ...folder, tools, run: (command, more) => callTool(tools, "shell", { command, ...more }) };
}

/** A killed process may be a zombie for a moment, until its new parent takes note. */
async function isGone(pid: number): Promise<boolean> {
  for (let tries = 0; tries < 100; tries++) {
    const status = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
    if (status === undefined || / [ZX] /.test(status)) return true;
    await setTimeout(20);
  }
  return false;
}

test("a command line runs in the bound directory and says how it ended", async () => {
  await using shell = await openShell();
  assert.deepEqual(
    shell.tools.map(({ name, effect }) => [name, effect]),
    [["shell", "unsafe"]],
  );
  assert.deepEqual(await shell.run("pwd; echo oops >&2 && cat"), {
    text: `${shell.path}\noops`,
    detail: { exit: 0, changed: [] },
  });
  assert.deepEqual(await shell.run("echo a; exit 3"), {
    text: "a\n[exit code 3]",
    detail: { exit: 3, changed: [] },
  });
  assert.deepEqual(await shell.run("true"), { text: "[exit code 0]", detail: { exit: 0, changed: [] } });
  assert.deepEqual(await shell.run("kill -9 $$"), {
    text: "[ended by SIGKILL]",
    detail: { exit: null, changed: [] },
  });
});

test("the environment is small, has secrets by name, and hides them in the output", async () => {
  await using shell = await openShell();
  process.env["SKEIN_TEST_LEAK"] = "leak";
  const { text } = await shell.run("env | grep -v ^_= | grep -v ^PWD= | sort; echo $TOKEN | wc -c");
  delete process.env["SKEIN_TEST_LEAK"];
  assert.deepEqual(text.split("\n"), [
    "HOME=/",
    "LANG=C.UTF-8",
    `PATH=${secrets["PATH"]}`,
    ...(text.includes("SHLVL") ? ["SHLVL=0"] : []),
    "TERM=dumb",
    "TOKEN=[TOKEN]",
    "13",
  ]);
  const missing = shellTools(world, [{ kind: "shell", name: "sh", mode: "write", secrets: ["NONE"] }]);
  assert.equal(await failure(missing), 'unavailable: "sh": secret NONE is not set');
});

test("which files changed is known afterwards, also those written again at once", async () => {
  await using shell = await openShell();
  const at = (name: string) => join(shell.path, name);
  await mkdir(at("node_modules"));
  for (const name of ["same", "grown", "gone", "moved", "kept-time"]) await writeFile(at(name), name);
  await utimes(at("kept-time"), 1, 1);
  const { detail } = await shell.run(
    "echo x >> grown; rm gone; mv moved to; mkdir -p d/e; echo 1 > d/e/new; echo > node_modules/x; " +
      "echo KEPT-TIM > kept-time; touch -d @1 kept-time; cat same",
  );
  assert.deepEqual(detail, {
    exit: 0,
    changed: ["d/e/new", "gone", "grown", "kept-time", "moved", "to"],
  });
  for (let round = 0; round < 5; round++) {
    await writeFile(at("tick"), "a");
    assert.deepEqual((await shell.run("printf b > tick")).detail, { exit: 0, changed: ["tick"] });
  }
});

test("a tree that is too large is reported", async () => {
  await using shell = await openShell();
  await shell.run("mkdir many; cd many; seq 20001 | xargs touch");
  assert.deepEqual((await shell.run("true")).detail, {
    exit: 0,
    changed: null,
    why: "more than 20000 entries, too many to tell what changed",
  });
});

test("a hundred megabytes come back as head and tail", async () => {
  await using shell = await openShell();
  const { text } = await shell.run("echo first; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo last");
  assert.ok(text.startsWith("first\nxxx") && text.endsWith("xxx\nlast"));
  assert.match(text, /\n\[… 99934476 bytes left out …\]\n/);
  assert.ok(text.length < 66_000);
});

test("head and tail are cut between characters, and nothing is lost before that", () => {
  for (const step of [1, 2, 3, 7, 1_000]) {
    const capture = makeCapture(10, 10);
    const bytes = Buffer.from("äöüß€éèêë".repeat(3));
    const whole = makeCapture(10, bytes.length - 10);
    for (let at = 0; at < bytes.length; at += step) {
      capture.add(bytes.subarray(at, at + step));
      whole.add(bytes.subarray(at, at + step));
    }
    assert.equal(whole.text(), "äöüß€éèêë".repeat(3));
    assert.equal(capture.text(), `äöüß\n[… ${bytes.length - 20} bytes left out …]\néèêë`);
  }
});

test("a command that takes too long is killed with its children, and its output is kept", async () => {
  await using shell = await openShell();
  const { text, isError, detail } = await shell.run(
    "echo $$; (sleep 300 & echo $!; exec sleep 300) & trap '' TERM INT HUP; sleep 300 & echo $!; wait",
    { timeoutSeconds: 0.5 },
  );
  const lines = text.split("\n");
  assert.deepEqual(
    [lines.pop(), isError, detail],
    ["[it took longer than 0.5 s and was ended]", true, { exit: null, changed: [] }],
  );
  assert.equal(lines.length, 3);
  for (const pid of lines.map(Number)) assert.ok(await isGone(pid), `${pid} is gone`);
});

test("an interrupt ends it at once", async () => {
  await using shell = await openShell();
  const call = new AbortController();
  const running = callTool(shell.tools, "shell", { command: "echo $$; sleep 300" }, call.signal);
  await setTimeout(300);
  const begun = performance.now();
  call.abort();
  const { text } = await running;
  assert.ok(performance.now() - begun < 2_000);
  const [pid, note] = text.split("\n");
  assert.equal(note, "[it was interrupted and ended]");
  assert.ok(await isGone(Number(pid)));
});

test("background processes are killed, and escaped ones are not awaited", async () => {
  await using shell = await openShell();
  const background = await shell.run("sleep 300 & echo $!");
  assert.ok(await isGone(Number(background.text)));
  const begun = performance.now();
  const away = await shell.run("setsid sleep 300 & echo $!; sleep 0.2");
  assert.ok(performance.now() - begun < 10_000);
  process.kill(Number(away.text), "SIGKILL");
});

test("with several shells the model says which, and a directory that is none is refused", async () => {
  await using one = await openShell();
  await using two = await openShell();
  const tools = await shellTools(world, [
    { kind: "shell", name: "one", mode: "write", path: one.path },
    { kind: "shell", name: "two", mode: "write", options: { cwd: two.path } },
  ]);
  assert.equal((await callTool(tools, "shell", { command: "pwd", in: "two" })).text, two.path);
  assert.match(await failure(callTool(tools, "shell", { command: "pwd" })), /invalid arguments: in: /);
  assert.deepEqual(await shellTools(world, []), []);
  for (const options of [{ path: join(one.path, "none") }, { options: { cwd: "/dev/null" } }]) {
    assert.match(
      await failure(shellTools(world, [{ kind: "shell", name: "x", mode: "write", ...options }])),
      /^unavailable: shell "x": .* is not a directory$/,
    );
  }
});

test("a command ends with the process that runs it, however that one dies", async () => {
  const file = join(import.meta.dirname, "shell-runner.ts");
  const child = spawn(process.execPath, [file], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const pid = Number(line.toString());
  const isThere = (): boolean => {
    try {
      process.kill(pid, 0);
      return true;
    } catch {
      return false;
    }
  };
  assert.equal(isThere(), true);
  child.kill("SIGKILL");
  for (let tries = 0; isThere() && tries < 100; tries++) await setTimeout(20);
  assert.equal(isThere(), false);
});
