#!/usr/bin/env node
/**
 * The command line's first file. It must be readable for any Node since 18, so that one that is too old
 * gets a clear line and no stack trace; and it must be over soon, so everything else is loaded only when it
 * is needed.
 */
import { version } from "../core/version.ts";

const words = process.argv.slice(2);
const major = Number(process.versions.node.split(".")[0]);

if (major < 24) {
  process.stderr.write(`skein needs Node 24 or newer, and this is Node ${process.versions.node}\n`);
  process.exitCode = 1;
} else if (words[0] === "--version" || words[0] === "-V") {
  const { node, sqlite } = process.versions;
  const json = words.includes("--json");
  process.stdout.write(`${json ? JSON.stringify({ version, node, sqlite }) : `skein ${version}`}\n`);
} else {
  cacheCode();
  const { runProcess } = await import("./command/process.ts");
  process.exitCode = await runProcess(words);
}

/**
 * Keeps compiled code for the next start, which then takes half the time. In a folder of the user's own:
 * what lies there is run, so nobody else may write to it. Where that fails, Node goes on without.
 */
function cacheCode(): void {
  const { env } = process;
  const home = env["XDG_CACHE_HOME"] || (env["HOME"] && `${env["HOME"]}/.cache`) || env["LOCALAPPDATA"];
  if (env["NODE_COMPILE_CACHE"] || !home) return;
  process.getBuiltinModule("node:module").enableCompileCache(`${home}/skein`);
}
