/**
 * Runs shell commands in bubblewrap: with separate namespaces for users, processes, network and mounts. They
 * see the system's programs, a private /tmp and the session's bindings, and nothing else.
 *
 * Skein may run as root. A command then has root's uid outside, without any capability: files that root owns
 * are writable by DAC alone. So /proc is mounted read-only (/proc/sys/kernel/core_pattern would run programs
 * as root), and further user namespaces are off.
 */
import { lstat, readdir, readFile, readlink, realpath } from "node:fs/promises";
import { release } from "node:os";
import { SkeinError } from "../core/error.ts";
import { limit } from "../core/limit.ts";
import { errorText } from "../core/first-error.ts";
import { realBoundPath, writableRoots } from "./bound-path.ts";
import { makeCapture } from "./capture.ts";
import type { McpWorld, PipedChild } from "./mcp-stdio.ts";
import type { StoredBinding, ToolWorld } from "./port.ts";
import { coveredPaths, identify, mountsOf } from "./sandbox-mounts.ts";

type Command = readonly [string, ...string[]];

export interface Sandbox {
  /** The working directory, as the command sees it. */
  readonly cwd: string;
  /** Whether that is a bound directory of the host. */
  readonly isBound: boolean;
  readonly env: Readonly<Record<string, string>>;
  /** The command line that runs a line of sh in the sandbox. */
  command(line: string): Promise<Command>;
  /** Kills processes that exceed the limits. Returns the reason, or null, when the signal is aborted. */
  watch(child: PipedChild, over: AbortSignal): Promise<string | null>;
}

/** What a sandboxed shell sees of the session: its own directory and the bound files and directories. */
export async function openSandbox(
  world: McpWorld,
  shell: StoredBinding,
  { bound, hidden }: { readonly bound: readonly StoredBinding[]; readonly hidden: readonly string[] },
): Promise<Sandbox> {
  const all = [...bound, shell];
  const mounts = await mountsOf(all, hidden);
  const writable = await writableRoots(all);
  // Without a path it works in the first bound directory, or in its /tmp.
  const place = shell.path ?? bound.find(({ kind }) => kind === "directory")?.path;
  const cwd = place === undefined ? "/tmp" : await realBoundPath({ name: shell.name, path: place }, writable);
  const network = shell.network === true;
  const command = async (line: string): Promise<Command> => {
    const identities = await identify(mounts, writable);
    const covered = await coveredPaths(hidden, mounts);
    return [
      "bwrap",
      ...isolation(network),
      ...(await systemFiles(network)),
      ...mounts.flatMap(({ path, isWritable }) => [isWritable ? "--bind" : "--ro-bind", path, path]),
      ...covered.flatMap((path) => ["--ro-bind", "/dev/null", path]),
      ...words("--remount-ro / --chdir"),
      cwd,
      ...words("-- /bin/sh -c"),
      limited(),
      "sh",
      line,
      ...mounts.flatMap(({ path }, place) => [identities[place] ?? "", path]),
    ];
  };
  await probe(world, shell.name, await command("exit 0"));
  return {
    cwd,
    isBound: place !== undefined,
    env: { PATH: systemPath, HOME: "/tmp", TMPDIR: "/tmp", LANG: "C.UTF-8", TERM: "dumb" },
    command,
    watch: (child, over) => watchLimits(world, child, over),
  };
}

const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Refuses to begin if the mounts differ from what was checked. */
const checkMounts =
  'line=$1; shift; while [ $# -gt 0 ]; do [ "$(stat -c %d:%i -- "$2")" = "$1" ] || ' +
  '{ echo "[not run: $2 was replaced]" >&2; exit 126; }; shift 2; done; ';

/**
 * Limits of each process; dash and busybox use -p for processes, bash uses -u. Before Linux 5.14 all of a
 * user's processes count, wherever they run.
 */
function limited(): string {
  const [major = 0, minor = 0] = release().split(".").map(Number);
  const most = limit.sandboxProcessesMax;
  const processes =
    major > 5 || (major === 5 && minor >= 14) ? `ulimit -p ${most} 2>/dev/null || ulimit -u ${most}; ` : "";
  const memory = `ulimit -d ${limit.sandboxMemoryBytesMax / 1_024}; `;
  return `${checkMounts}ulimit -c 0; ${memory}${processes}exec /bin/sh -c "$line" </dev/null`;
}

const words = (line: string): readonly string[] => line.split(" ");

const isolation = (network: boolean): readonly string[] => [
  ...words("--unshare-user --disable-userns --unshare-ipc --unshare-pid --unshare-uts --unshare-cgroup-try"),
  ...words("--uid 1000 --gid 1000 --hostname sandbox --cap-drop ALL --die-with-parent --new-session"),
  ...(network ? [] : ["--unshare-net"]),
];

/** Programs, libraries and the parts of /etc they read. None of it holds a secret. */
const systemFolders = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
const settings = words(
  "alternatives ca-certificates group ld.so.cache ld.so.conf ld.so.conf.d localtime nsswitch.conf " +
    "os-release passwd pki protocols services shells ssl/certs ssl/openssl.cnf",
);
const networkSettings = ["hosts", "resolv.conf", "gai.conf"];

async function systemFiles(network: boolean): Promise<readonly string[]> {
  const folders = await Promise.all(systemFolders.map(systemFolder));
  const files = [...settings, ...(network ? networkSettings : [])].map((name) => `/etc/${name}`);
  return [
    ...folders.flat(),
    ...files.flatMap((path) => ["--ro-bind-try", path, path]),
    ...words("--proc /proc --remount-ro /proc --dev /dev"),
    ...words(`--size ${limit.sandboxTmpBytesMax} --tmpfs /dev/shm --remount-ro /dev`),
    ...words(`--perms 1777 --size ${limit.sandboxTmpBytesMax} --tmpfs /tmp`),
    ...words("--dir /var --symlink ../tmp /var/tmp --dir /run"),
  ];
}

/** /bin is a link on most systems, and a folder on others. */
async function systemFolder(path: string): Promise<readonly string[]> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined) return [];
  return found.isSymbolicLink() ? ["--symlink", await realpath(path), path] : ["--ro-bind", path, path];
}

/** Checks that the sandbox works, before a turn begins. */
async function probe(world: McpWorld, name: string, command: Command): Promise<void> {
  if (process.platform !== "linux") throw noSandbox(name, "a sandbox requires Linux");
  const said = makeCapture(1_000, 1_000);
  const child = await world.spawnPiped(command, { env: { PATH: systemPath } }).catch((error: unknown) => {
    const isMissing = /ENOENT/.test(errorText(error));
    throw noSandbox(name, isMissing ? "bubblewrap is not installed" : errorText(error), error);
  });
  child.end();
  for await (const bytes of child.stderr) said.add(bytes);
  const { code, signal } = await child.exited;
  if (code === 0) return;
  const reason = said.text().trim() || `bubblewrap ended with ${code ?? signal}`;
  throw noSandbox(name, /Unknown option/.test(reason) ? "bubblewrap is older than 0.8.0" : reason);
}

function noSandbox(name: string, reason: string, cause?: unknown): SkeinError {
  const isDenied = /permission|not permitted|namespace/i.test(reason);
  const hint = isDenied
    ? "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000 " +
      "kernel.apparmor_restrict_unprivileged_userns=0"
    : "install bubblewrap 0.8.0 or newer: apt-get install bubblewrap";
  return new SkeinError("unavailable", `shell "${name}": sandbox unavailable: ${reason}`, {
    hint: `${hint}; or unbind "${name}"`,
    cause,
  });
}

const lookMs = 100;

/** Limits over all processes, which no kernel enforces without cgroups. */
async function watchLimits(
  world: Pick<ToolWorld, "sleep">,
  child: PipedChild,
  over: AbortSignal,
): Promise<string | null> {
  let folder: string | undefined;
  while (!over.aborted) {
    folder ??= await processesOf(child.pid);
    const reason = folder === undefined ? null : await excessOf(folder);
    if (reason !== null && !over.aborted) {
      child.kill();
      return reason;
    }
    await world.sleep(lookMs, over);
  }
  return null;
}

/**
 * The sandbox's own /proc, which lists only its processes; undefined while its first process still has that
 * of the host.
 */
async function processesOf(pid: number): Promise<string | undefined> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => "");
  const [init = ""] = children.trim().split(" ");
  if (init === "") return undefined;
  const folder = `/proc/${init}/root/proc`;
  const [own, shown] = await Promise.all(
    [`/proc/${init}/ns/pid`, `${folder}/1/ns/pid`].map((path) => readlink(path).catch(() => undefined)),
  );
  return own !== undefined && own === shown ? folder : undefined;
}

/** The limit that the processes of a /proc exceed. */
export async function excessOf(folder: string): Promise<string | null> {
  const names = await readdir(folder).catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name));
  const most = limit.sandboxProcessesMax;
  if (pids.length > most) return `it had more than ${most} processes`;
  let bytes = 0;
  for (const pid of pids) bytes += await memoryOf(`${folder}/${pid}`);
  if (bytes <= limit.sandboxMemoryBytesMax) return null;
  // The exact figure walks all pages of a process, so it is read only here: a mapping that ten processes
  // share counts ten times so far.
  bytes = 0;
  for (const pid of pids) bytes += await proportionalMemoryOf(`${folder}/${pid}`);
  return bytes > limit.sandboxMemoryBytesMax
    ? `it took more than ${limit.sandboxMemoryBytesMax} bytes of memory`
    : null;
}

/** Private and shared memory of a process, without mapped files: the kernel can drop their pages. */
async function memoryOf(process: string): Promise<number> {
  const status = await readFile(`${process}/status`, "utf8").catch(() => "");
  return (kilobytesIn(status, "RssAnon") + kilobytesIn(status, "RssShmem")) * 1_024;
}

/** The same, with each shared page divided by the processes that map it, if the kernel reports that. */
async function proportionalMemoryOf(process: string): Promise<number> {
  const rollup = await readFile(`${process}/smaps_rollup`, "utf8").catch(() => "");
  if (!rollup.includes("Pss_Shmem:")) return memoryOf(process);
  return (kilobytesIn(rollup, "Pss_Anon") + kilobytesIn(rollup, "Pss_Shmem")) * 1_024;
}

function kilobytesIn(text: string, name: string): number {
  const line = text.split("\n").find((one) => one.startsWith(`${name}:`)) ?? "";
  return Number.parseInt(line.slice(name.length + 1), 10) || 0;
}
