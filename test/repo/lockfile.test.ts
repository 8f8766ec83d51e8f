/** Keeps the lockfile whole: npm takes it as it is, on every platform, and it pins what is fetched. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Ended } from "./command.ts";
import { runCommand } from "./command.ts";
import { root } from "./source.ts";

interface Locked {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly os?: readonly string[];
}
type Packages = Readonly<Record<string, Locked>>;
interface Lockfile {
  readonly packages: Packages;
}
interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

const scratch = mkdtempSync(join(tmpdir(), "skein-lockfile-"));
after(() => rmSync(scratch, { recursive: true }));

const manifest = read("package.json") as Manifest;
const lockfile = read("package-lock.json") as Lockfile;

test("npm ci takes the lockfile, and needs nothing that is not in it", async () => {
  const { code, stdout, stderr } = await tryInstall("whole", lockfile.packages);
  assert.equal(code, 0, stdout + stderr);
});

test("npm ci refuses a lockfile without the packages of other platforms", async () => {
  const [foreign = ""] =
    Object.entries(lockfile.packages).find(([, { os }]) => os !== undefined && !os.includes("linux")) ?? [];
  const { [foreign]: _, ...others } = lockfile.packages;
  const { code, stderr } = await tryInstall("partial", others);
  assert.notEqual(code, 0);
  assert.ok(stderr.includes(`Missing: ${foreign.replace("node_modules/", "")}@`), stderr);
});

test("each version is exact, has its hash, and comes from whatever registry the machine uses", () => {
  assert.deepEqual(loose(manifest, lockfile.packages), []);
});

test("a range, a missing hash and a host are reported", () => {
  const packages = {
    "": { version: "1.0.0" },
    "node_modules/a": { version: "1.0.0", integrity: "sha512-AA==", resolved: "https://registry.example/a" },
    "node_modules/b": { version: "1.0.0" },
  };
  assert.deepEqual(loose({ dependencies: { a: "^1.0.0" }, devDependencies: { b: "1.0.0-rc.1" } }, packages), [
    "package.json: a is asked for as ^1.0.0",
    "node_modules/a: names a host",
    "node_modules/b: has no hash",
  ]);
});

function loose({ dependencies, devDependencies }: Manifest, packages: Packages): readonly string[] {
  const asked = Object.entries({ ...dependencies, ...devDependencies });
  const locked = Object.entries(packages).filter(([path]) => path !== "");
  return [
    ...asked
      .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
      .map(([name, version]) => `package.json: ${name} is asked for as ${version}`),
    ...locked.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => `${path}: names a host`),
    ...locked
      .filter(([, { integrity }]) => integrity?.startsWith("sha512-") !== true)
      .map(([path]) => `${path}: has no hash`),
  ];
}

/** In a folder of its own, with an empty cache and no network: npm has the two files, and nothing else. */
function tryInstall(name: string, packages: Packages): Promise<Ended> {
  const folder = join(scratch, name);
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify({ ...lockfile, packages }));
  const alone = ["--offline", "--cache", join(folder, "cache"), "--userconfig", join(folder, "none")];
  return runCommand("npm", ["ci", "--dry-run", ...alone], { cwd: folder, outside: true });
}

function read(path: string): unknown {
  return JSON.parse(readFileSync(join(root, path), "utf8"));
}
