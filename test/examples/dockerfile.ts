/**
 * Reads a Dockerfile, and carries it out without Docker: each stage is a folder that stands for the root of
 * its image. What only Docker or a registry could do is done another way, and named in a table.
 */
import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { runCommand } from "../repo/command.ts";
import { root as checkout } from "../repo/source.ts";

export interface Instruction {
  readonly word: string;
  readonly rest: string;
}

export interface Stage {
  readonly image: string;
  readonly name: string | null;
  readonly instructions: readonly Instruction[];
}

export function parseDockerfile(text: string): readonly Stage[] {
  const lines = text
    .replaceAll(/^#.*\n/gm, "")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .filter((line) => line.trim() !== "");
  const stages: { image: string; name: string | null; instructions: Instruction[] }[] = [];
  for (const line of lines) {
    const [, word = "", rest = ""] = /^([A-Z]+) +(.+)$/.exec(line) ?? assert.fail(`not understood: ${line}`);
    const [, image = "", name = null] = word === "FROM" ? (/^(\S+)(?: AS (\w+))?$/.exec(rest) ?? []) : [];
    if (word === "FROM") stages.push({ image, name, instructions: [] });
    else (stages.at(-1) ?? assert.fail(`${word} before FROM`)).instructions.push({ word, rest });
  }
  return stages;
}

/** What the last instruction of this kind in the last stage says. */
export function lastOf(stages: readonly Stage[], word: string): string {
  const found = stages.at(-1)?.instructions.findLast((instruction) => instruction.word === word);
  return found?.rest ?? assert.fail(`the image has no ${word}`);
}

/** Builds all stages below a folder, and gives the root of the last. */
export async function build(
  stages: readonly Stage[],
  folder: string,
  sent: readonly string[],
): Promise<string> {
  const roots = stages.map((_, place) => join(folder, `stage-${place}`));
  for (const [place, { instructions }] of stages.entries()) {
    const root = roots[place] ?? "";
    let cwd = root;
    mkdirSync(join(root, "usr/local/bin"), { recursive: true });
    for (const { word, rest } of instructions) {
      if (word === "WORKDIR") mkdirSync((cwd = join(root, rest)), { recursive: true });
      if (word === "RUN") await runLine(rest, { root, cwd });
      if (word === "COPY") {
        const [, from] = /^--from=(\w+) /.exec(rest) ?? [];
        const words = rest.replace(/^--from=\w+ /, "").split(/ +/);
        const to = words.at(-1) ?? "";
        const target = to.startsWith("/") ? join(root, to) : join(cwd, to);
        const earlier = roots[stages.findIndex(({ name }) => name === from)];
        for (const path of words.slice(0, -1)) {
          const isFolder = to.endsWith("/");
          if (earlier === undefined) copyIn(path, isFolder ? join(target, basename(path)) : target, sent);
          else moveIn(join(earlier, path), target);
        }
      }
    }
  }
  return roots.at(-1) ?? assert.fail("the Dockerfile has no stage");
}

/** From the checkout; only what is sent to the builder can be copied. */
function copyIn(path: string, target: string, sent: readonly string[]): void {
  assert.ok(sent.includes(path), `${path} is not sent to the builder`);
  cpSync(join(checkout, path), target, { recursive: true });
}

/** An earlier stage is done with, so that what is copied from it is moved, which takes no time. */
function moveIn(path: string, target: string): void {
  assert.ok(existsSync(path), `${path} was not built`);
  mkdirSync(dirname(target), { recursive: true });
  renameSync(path, target);
}

interface Within {
  readonly root: string;
  readonly cwd: string;
}

/** What is done here in place of a command, by how the command begins. */
const inPlaceOf: readonly (readonly [RegExp, (within: Within, match: RegExpExecArray) => void])[] = [
  [
    /^npm ci --ignore-scripts$/,
    ({ cwd }) => symlinkSync(join(checkout, "node_modules"), join(cwd, "node_modules")),
  ],
  [/^npm prune --omit=dev --ignore-scripts$/, ({ cwd }) => keepProduction(cwd)],
  [
    /^install -d -o node -g node (\/\S+)$/,
    ({ root }, [, path = ""]) => mkdirSync(join(root, path), { recursive: true }),
  ],
];

async function runLine(line: string, within: Within): Promise<void> {
  for (const [pattern, act] of inPlaceOf) {
    const match = pattern.exec(line);
    if (match !== null) return act(within, match);
  }
  // Types are checked elsewhere, and that takes most of the time.
  const quick = line.replace(/\bnpm run build\b/, "$& -- --noCheck --declaration false");
  const inRoot = quick.replaceAll(/(?<= )\/(?=\w)/g, `${within.root}/`);
  const { code, stdout, stderr } = await runCommand("sh", ["-c", inRoot], { cwd: within.cwd });
  assert.equal(code, 0, `${line}\n${stdout}${stderr}`);
}

interface Lockfile {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly optional?: boolean }>>;
}

/** The packages that the lockfile does not mark as for development, copied, so that no other is found. */
function keepProduction(cwd: string): void {
  rmSync(join(cwd, "node_modules"));
  const { packages } = JSON.parse(readFileSync(join(cwd, "package-lock.json"), "utf8")) as Lockfile;
  const kept = Object.entries(packages).filter(
    ([path, { dev, optional }]) => path !== "" && dev !== true && optional !== true,
  );
  assert.notEqual(kept.length, 0);
  for (const [path] of kept) {
    // What lies within a package comes along with it.
    if (path.lastIndexOf("node_modules/") > 0) continue;
    cpSync(join(checkout, path), join(cwd, path), { recursive: true });
  }
}
