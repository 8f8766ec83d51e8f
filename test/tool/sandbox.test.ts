/** The sandboxed shell: what a command sees, and every way out that was thought of. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { limit } from "../../src/core/limit.ts";
import { openEngine } from "../../src/index.ts";
import { realWorld } from "../../src/runtime/world.ts";
import type { McpWorld } from "../../src/tool/mcp-stdio.ts";
import type { StoredBinding, OuterTool } from "../../src/tool/port.ts";
import { excessOf } from "../../src/tool/sandbox.ts";
import { shellTools } from "../../src/tool/shell.ts";
import { engineWith, scripted, use } from "../runtime/turn/scripted.ts";
import { noBubblewrap } from "./bubblewrap.ts";
import { callTool, failure, openFolder, type Called } from "./calling.ts";

const skip = await noBubblewrap();
process.env["SKEIN_TEST_API_KEY"] = "sk-host-only-4711";
const secrets: Readonly<Record<string, string>> = { TOKEN: "s3cr3t-value" };
const world: McpWorld = { ...realWorld(), secret: (name) => secrets[name] };

interface Place extends AsyncDisposable {
  /** Bound for writing, for reading, and not at all. */
  readonly writable: string;
  readonly readable: string;
  readonly outside: string;
  readonly tools: readonly OuterTool[];
  run(command: string, more?: object): Promise<Called>;
}

async function openPlace(
  more: Partial<StoredBinding> = {},
  hidden: (folder: string) => readonly string[] = () => [],
): Promise<Place> {
  const folder = await openFolder();
  const [writable, readable, outside] = ["writable", "readable", "outside"].map((name) =>
    join(folder.path, name),
  ) as [string, string, string];
  for (const path of [writable, readable, outside]) await mkdir(path);
  await writeFile(join(readable, "given.txt"), "given");
  await writeFile(join(outside, "private.txt"), "private words");
  const bound: StoredBinding[] = [
    { kind: "directory", name: "w", mode: "write", path: writable },
    { kind: "directory", name: "r", mode: "read", path: readable },
  ];
  const shell: StoredBinding = { kind: "shell", name: "sandbox", mode: "read", sandbox: true, ...more };
  const tools = await shellTools(world, [shell], { bound, hidden: hidden(folder.path) });
  return {
    writable,
    readable,
    outside,
    tools,
    run: (command, input) => callTool(tools, "shell", { command, ...input }),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

const exitOf = ({ detail }: Called): unknown => (detail as { exit: unknown }).exit;

describe("a sandboxed shell", { skip }, () => {
  test("has the bound directories, to read or write as they are bound", async () => {
    await using place = await openPlace();
    const { text, detail } = await place.run(`pwd; cat ${place.readable}/given.txt; echo made > made.txt`);
    assert.equal(text, `${place.writable}\ngiven`);
    assert.deepEqual(detail, { exit: 0, changed: ["made.txt"] });
    assert.equal(await readFile(join(place.writable, "made.txt"), "utf8"), "made\n");
    const writes = ["> given.txt", "> new.txt", "rm given.txt", "chmod 777 given.txt", "mv given.txt x"];
    for (const write of writes) {
      const refused = await place.run(`cd ${place.readable} && ${write}`);
      assert.match(refused.text, /Read-only file system/, write);
    }
    assert.deepEqual(await readdir(place.readable), ["given.txt"]);
    for (const path of ["/usr/x", "/etc/passwd", "/x", "/dev/x", "/bin/x", "/run/x"])
      assert.match((await place.run(`echo x > ${path}`)).text, /Read-only file system|Permission/, path);
  });

  test("is contained unless it has the network, and so says its tool", async () => {
    await using place = await openPlace();
    await using networked = await openPlace({ network: true });
    const plain = await shellTools(world, [{ kind: "shell", name: "shell", mode: "read", path: "/tmp" }]);
    const contained = [place.tools, networked.tools, plain].map(([tool]) => tool?.contained);
    assert.deepEqual(contained, [true, false, false]);
    assert.match(place.tools[0]?.description ?? "", /"sandbox" is a sandbox: .*no network/);
  });

  test("leads nowhere by links, paths or /proc", async () => {
    await using place = await openPlace();
    await symlink(place.outside, join(place.writable, "link"));
    await symlink(join(place.outside, "private.txt"), join(place.readable, "link.txt"));
    const ways = [
      "cat link/private.txt",
      `cat ${place.readable}/link.txt`,
      `cat ${place.outside}/private.txt`,
      `cat ${place.writable}/../outside/private.txt`,
      `ln -s ${place.outside} own && cat own/private.txt`,
      `cat /proc/1/root${place.outside}/private.txt`,
      `cat /proc/${process.pid}/root${place.outside}/private.txt`,
      `ln ${place.outside}/private.txt hard && cat hard`,
      "cat /root/.bashrc; ls /home/*; cat ~/.bashrc",
    ];
    for (const way of ways) {
      const { text, detail } = await place.run(way);
      assert.doesNotMatch(text, /private words/, way);
      assert.notEqual((detail as { exit: unknown }).exit, 0, way);
    }
    const { text } = await place.run("ls /; ls -d /tmp/*; ls /proc | grep -c '^[0-9]'");
    assert.doesNotMatch(text, /root|home|sys\b|mnt|srv/);
    assert.ok(Number(text.split("\n").at(-1)) < 10, "only its own processes are in /proc");
  });

  test("sees neither the environment nor the processes of the host", async () => {
    await using place = await openPlace({ secrets: ["TOKEN"] });
    const { text } = await place.run(
      "env; cat /proc/*/environ | tr '\\0' '\\n'; cat /proc/*/cmdline | tr '\\0' ' '",
    );
    assert.doesNotMatch(text, /sk-host-only|SKEIN_TEST_API_KEY|API_KEY/);
    assert.doesNotMatch(text, /node|sandbox\.test/);
    assert.match(text, /^TOKEN=\[TOKEN\]$/m);
    assert.match(text, /^HOME=\/tmp$/m);
    assert.notEqual(exitOf(await place.run(`kill -0 ${process.pid}`)), 0);
  });

  test("cannot write kernel settings, gain rights or make namespaces, also as root", async () => {
    await using place = await openPlace();
    const settings = [
      "sys/kernel/core_pattern",
      "sys/vm/swappiness",
      "sysrq-trigger",
      "self/oom_score_adj",
    ].map((name) => `/proc/${name}`);
    for (const path of settings) assert.equal(exitOf(await place.run(`test -w ${path}`)), 1, path);
    const { text } = await place.run("grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status; id -u");
    assert.match(text, /CapEff:\s+0+\nCapBnd:\s+0+\nNoNewPrivs:\s+1\n1000$/);
    for (const way of [
      "unshare -U true",
      "unshare -m true",
      "mount -t tmpfs x /tmp",
      "chroot / true",
      "su -c id",
    ])
      assert.notEqual(exitOf(await place.run(way)), 0, way);
    // A setuid program of the host gains nothing, and neither does one that is made here.
    const made = await place.run("cp /bin/sleep s && chmod u+s s; grep -c nosuid /proc/self/mounts; ls -l s");
    assert.equal(exitOf(made), 0);
    assert.equal(exitOf(await place.run("mknod dev b 8 0")), 1);
  });

  test("has no network, not even loopback, unless that is allowed", async () => {
    const server = createServer((_, response) => void response.end("reached"));
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const hello = String.raw`printf "GET / HTTP/1.0\r\n\r\n"`;
    const bash = `bash -c 'exec 3<>/dev/tcp/127.0.0.1/${port} && ${hello} >&3 && cat <&3'`;
    try {
      await using place = await openPlace();
      const refused = await place.run(bash);
      assert.doesNotMatch(refused.text, /reached/);
      assert.match((await place.run("cat /proc/net/dev | tail -n +3 | cut -d: -f1")).text.trim(), /^(lo)?$/);
      await using networked = await openPlace({ network: true });
      assert.match((await networked.run(bash)).text, /reached/);
    } finally {
      server.close();
    }
  });

  test("does not show the store, wherever that lies", async () => {
    const names = ["skein.db", "skein.db-wal", "skein.db-shm", "skein.db.token"];
    await using place = await openPlace({}, (folder) => [join(folder, "writable", "skein.db")]);
    for (const name of names) await writeFile(join(place.writable, name), "chained records");
    for (const name of names) {
      for (const way of [`cat ${name}`, `cp ${name} copy`, `ln ${name} copy`, `echo x >> ${name}`])
        assert.notEqual(exitOf(await place.run(way)), 0, way);
      for (const way of [`rm -f ${name}`, `mv ${name} moved`]) {
        assert.match((await place.run(way)).text, /busy/i, way);
      }
      assert.equal(await readFile(join(place.writable, name), "utf8"), "chained records");
    }
  });

  test("ends all that it started, also what put itself aside", async () => {
    await using place = await openPlace();
    const mark = `${87_000 + (process.pid % 1_000)}`;
    await place.run(
      `sleep ${mark} & setsid sleep ${mark} & (trap '' TERM HUP; nohup sleep ${mark} >/dev/null 2>&1 &)`,
    );
    assert.deepEqual(await sleeping(mark), []);
    const late = await place.run(`setsid sleep ${mark} & sleep ${mark}`, { timeoutSeconds: 0.5 });
    assert.match(late.text, /took longer than 0.5 s/);
    assert.deepEqual(await sleeping(mark), []);
  });

  test("ends when the process that runs it is killed", async () => {
    await using place = await openPlace();
    const mark = `${88_000 + (process.pid % 1_000)}`;
    const runner = join(import.meta.dirname, "sandbox-runner.ts");
    const child = spawn(process.execPath, [
      "--conditions=skein-source",
      runner,
      place.writable,
      `sleep ${mark}`,
    ]);
    for (let tries = 0; (await sleeping(mark, 0)).length === 0 && tries < 300; tries++) await setTimeout(50);
    assert.equal((await sleeping(mark, 0)).length, 1);
    child.kill("SIGKILL");
    await once(child, "exit");
    assert.deepEqual(await sleeping(mark), []);
  });

  test("is stopped when it takes too many processes or too much memory", { timeout: 120_000 }, async () => {
    await using place = await openPlace();
    const many = await place.run(
      `for i in $(seq ${3 * limit.sandboxProcessesMax}); do sleep 4 & done; wait`,
      {
        timeoutSeconds: 60,
      },
    );
    assert.match(many.text, /more than 256 processes and was ended|[Cc]annot fork|Resource temporarily/);
    const one = await place.run("head -c 3000000000 /dev/zero | tail", { timeoutSeconds: 60 });
    assert.match(one.text, /memory|exhausted|bytes of memory and was ended/i);
    const tmp = await place.run("head -c 400000000 /dev/zero > /tmp/x");
    assert.match(tmp.text, /No space left on device/);
    assert.equal((await place.run("echo fine; ls /tmp | grep -v skein-tool")).text.split("\n")[0], "fine");
    assert.equal(exitOf(await place.run("test ! -e /tmp/x")), 0);
  });

  test("counts shared anonymous memory, once for all processes that map it", async () => {
    await using folder = await openFolder();
    const kilobytes = limit.sandboxMemoryBytesMax / 1_024;
    const write = async (pid: number, shared: number, proportional: number | null): Promise<void> => {
      await mkdir(join(folder.path, `${pid}`), { recursive: true });
      const status = `Name:\tx\nVmRSS:\t${shared} kB\nRssAnon:\t     8 kB\nRssShmem:\t${shared} kB\n`;
      await writeFile(join(folder.path, `${pid}`, "status"), status);
      const rollup = `0-1 [rollup]\nPss_Anon:  8 kB\nPss_Shmem:   ${proportional} kB\n`;
      if (proportional !== null) await writeFile(join(folder.path, `${pid}`, "smaps_rollup"), rollup);
    };
    await write(1, kilobytes - 100, (kilobytes - 100) / 2);
    assert.equal(await excessOf(folder.path), null);
    await write(2, kilobytes - 100, (kilobytes - 100) / 2);
    assert.equal(await excessOf(folder.path), null, "both map the same pages");
    await write(3, 200, null);
    assert.match((await excessOf(folder.path)) ?? "", /more than 2147483648 bytes of memory/);
  });

  test("refuses a path replaced by a link, and paths that a sandbox cannot show", async () => {
    await using place = await openPlace();
    await rename(place.writable, `${place.writable}-moved`);
    await symlink(place.outside, place.writable);
    assert.match(await failure(place.run("cat private.txt")), /was moved or replaced by a link/);
    await rm(place.writable);
    for (const path of ["/", "/proc", "/dev/shm"]) {
      const shell: StoredBinding = { kind: "shell", name: "s", mode: "read", sandbox: true, path };
      const opening = shellTools(world, [shell], { bound: [], hidden: [] });
      assert.match(await failure(opening), /invalid: sandbox: cannot mount/, path);
    }
  });

  test("without bubblewrap it refuses, and names the package to install", async () => {
    await using folder = await openFolder();
    const nothing: McpWorld = {
      ...world,
      spawnPiped: ([, ...words], options) => world.spawnPiped(["bwrap-that-is-not-there", ...words], options),
    };
    const shell: StoredBinding = {
      kind: "shell",
      name: "sandbox",
      mode: "read",
      sandbox: true,
      path: folder.path,
    };
    const opening = shellTools(nothing, [shell], { bound: [], hidden: [] });
    await assert.rejects(opening, {
      code: "unavailable",
      message: 'shell "sandbox": sandbox unavailable: bubblewrap is not installed',
      hint: 'install bubblewrap 0.8.0 or newer: apt-get install bubblewrap; or unbind "sandbox"',
    });
    const old = join(folder.path, "bwrap");
    await writeFile(old, "#!/bin/sh\necho 'bwrap: Unknown option --disable-userns' >&2; exit 1\n");
    await chmod(old, 0o755);
    const older: McpWorld = {
      ...world,
      spawnPiped: ([, ...words], options) => world.spawnPiped([old, ...words], options),
    };
    const outdated = shellTools(older, [shell], { bound: [], hidden: [] });
    assert.match(await failure(outdated), /bubblewrap is older than 0\.8\.0/);
  });

  test("is bound by the engine, stored under version 2, and used by a session", async () => {
    await using folder = await openFolder();
    const script = scripted([
      [use("shell", { command: "pwd; echo made > made.txt; cat given.txt" })],
      "Done.",
    ]);
    await using engine = engineWith(script);
    await writeFile(join(folder.path, "given.txt"), "given");
    const bind = [
      { kind: "shell", sandbox: true, path: folder.path },
      { kind: "shell", path: folder.path },
    ] as const;
    const session = await engine.open({ objective: "Run", bind: bind.slice(0, 1) });
    for await (const _ of session.ask("Go"));
    const found: unknown[] = [];
    for await (const { type, v, body, content } of session.events()) {
      if (type === "resource.bound") found.push([v, body, content]);
      if (type === "tool.settled") found.push((content as { output: unknown }).output);
    }
    assert.deepEqual(found[0], [
      2,
      { name: "sandbox", kind: "shell", mode: "read" },
      { path: folder.path, sandbox: true },
    ]);
    assert.match(String(found[1]), /made\.txt: Read-only file system/);
    assert.match(String(found[1]), /given/);
    const fork = await session.fork({ objective: "On" });
    assert.equal((await fork.state()).bindings.length, 1);
    const plain = await engine.open({ objective: "Plain", bind: bind.slice(1) });
    for await (const { type, v } of plain.events()) if (type === "resource.bound") assert.equal(v, 1);
    assert.equal((await session.verify()).ok, true);
  });
});

test("a sandbox is for shells, and its network for sandboxes", async () => {
  await using engine = await openEngine({ store: "memory:" });
  const session = await engine.open({ objective: "Bind" });
  for (const [binding, reason] of [
    [{ kind: "directory", path: ".", sandbox: true }, /sandbox: expected a shell, got a directory/],
    [{ kind: "shell", network: true }, /network: expected a sandboxed shell/],
    [{ kind: "shell", sandbox: "yes" }, /sandbox: expected true or false/],
  ] as const) {
    await assert.rejects(session.bind(binding as never), { code: "invalid", message: reason });
    await assert.rejects(engine.open({ objective: "x", bind: [binding as never] }), { code: "invalid" });
  }
  const template = engine.trigger("t", { kind: "every", everyMs: 60_000 } as never, {
    open: { objective: "x", bind: [{ kind: "shell", sandbox: true }] },
  });
  await assert.rejects(template, { code: "invalid", message: /a template cannot have a sandboxed shell/ });
});

/** Processes of the host that sleep for so long. */
async function sleeping(mark: string, tries = 60): Promise<readonly string[]> {
  let found: string[] = [];
  for (let count = 0; count <= tries; count++) {
    found = [];
    for (const pid of await readdir("/proc")) {
      if (!/^\d+$/.test(pid)) continue;
      const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
      if (line === `sleep\0${mark}\0`) found.push(pid);
    }
    if (found.length === 0 || tries === 0) return found;
    await setTimeout(50);
  }
  return found;
}
