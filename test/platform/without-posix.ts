/**
 * Loaded before a program (`node --import`): takes away what other systems lack. `/proc` does not exist,
 * the file system cannot be watched, and files have no modes and owners, as on Windows.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

type Call = (...args: unknown[]) => unknown;
type Calls = Record<string, Call>;

const isProc = (path: unknown): boolean =>
  /^(file:\/\/)?\/proc(\/|$)/.test(
    path instanceof URL
      ? path.href
      : Buffer.isBuffer(path)
        ? String(path)
        : typeof path === "string"
          ? path
          : "",
  );

const missing = (call: string, path: unknown): Error =>
  Object.assign(new Error(`ENOENT: no such file or directory, ${call} '${String(path)}'`), {
    code: "ENOENT",
    errno: -2,
    syscall: call,
    path: String(path),
  });
const unsupported = (): Error =>
  Object.assign(new Error("ENOSYS: function not implemented, watch"), { code: "ENOSYS", syscall: "watch" });

/** Replaces a function of a module, and keeps the names that hang on it, such as `realpath.native`. */
function replace(of: object, name: string, make: (before: Call) => Call): void {
  const calls = of as Calls;
  const before = calls[name];
  if (before === undefined) return;
  calls[name] = Object.assign(make(before), before);
}

/** As libuv gives them on Windows: all may read and write, and a file has no owner. */
function withoutMode(stat: unknown): unknown {
  const stats = stat as { mode?: number | bigint; uid?: number | bigint; gid?: number | bigint } | undefined;
  if (typeof stats?.mode === "bigint") {
    stats.mode = (stats.mode & ~0o7777n) | 0o666n;
    stats.uid = stats.gid = 0n;
  } else if (typeof stats?.mode === "number") {
    stats.mode = (stats.mode & ~0o7777) | 0o666;
    stats.uid = stats.gid = 0;
  }
  return stats;
}

const last = (args: readonly unknown[]): Call | undefined => {
  const found = args.at(-1);
  return typeof found === "function" ? (found as Call) : undefined;
};

const byPath = "access lstat open opendir readdir readFile readlink realpath stat".split(" ");
for (const name of byPath) {
  replace(fs, `${name}Sync`, (before) => (...args) => {
    if (!isProc(args[0])) return before(...args);
    if ((args[1] as { throwIfNoEntry?: boolean } | undefined)?.throwIfNoEntry === false) return undefined;
    throw missing(name, args[0]);
  });
  replace(fs, name, (before) => (...args) => {
    if (!isProc(args[0])) return before(...args);
    const done = last(args);
    queueMicrotask(() => void done?.(missing(name, args[0])));
    return undefined;
  });
  replace(fs.promises, name, (before) => async (...args) => {
    if (isProc(args[0])) throw missing(name, args[0]);
    return before(...args);
  });
}
replace(fs, "existsSync", (before) => (path) => !isProc(path) && before(path));
for (const name of ["stat", "lstat", "fstat"]) {
  replace(
    fs,
    `${name}Sync`,
    (before) =>
      (...args) =>
        withoutMode(before(...args)),
  );
  replace(fs, name, (before) => (...args) => {
    const done = last(args);
    return before(...args.slice(0, -1), (error: unknown, stat: unknown) => done?.(error, withoutMode(stat)));
  });
  replace(
    fs.promises,
    name,
    (before) =>
      async (...args) =>
        withoutMode(await before(...args)),
  );
}
for (const name of ["chmod", "fchmod", "lchmod", "chown", "fchown", "lchown"]) {
  replace(fs, `${name}Sync`, () => () => undefined);
  replace(
    fs,
    name,
    () =>
      (...args) =>
        queueMicrotask(() => void last(args)?.(null)),
  );
  replace(fs.promises, name, () => async () => undefined);
}
for (const module of [fs, fs.promises])
  replace(module, "watch", () => () => {
    throw unsupported();
  });

// The class of file handles has no name that can be imported.
const handle = await fs.promises.open(import.meta.filename);
const prototype = Object.getPrototypeOf(handle) as object;
await handle.close();
replace(prototype, "chmod", () => async () => undefined);
replace(prototype, "chown", () => async () => undefined);
replace(
  prototype,
  "stat",
  (before) =>
    async function (this: unknown, ...args) {
      return withoutMode(await before.apply(this, args));
    },
);

for (const name of ["getuid", "geteuid", "getgid", "getegid", "getgroups", "umask"] as const)
  if (name !== "umask") Object.defineProperty(process, name, { value: undefined });
syncBuiltinESMExports();
