#!/usr/bin/env node
/**
 * The command line's first file. Any Node since 18 must be able to read it, so that one that is too old gets
 * a clear line and no stack trace; and it must be quick, so everything else is loaded only when it is needed.
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
 * Caches compiled code for the next start, which then takes half the time. In the user's own folder: Node
 * runs what lies there, so only the user may write to it. Where that fails, Node continues without.
 */
function cacheCode(): void {
  const { env } = process;
  const home = env["XDG_CACHE_HOME"] || (env["HOME"] && `${env["HOME"]}/.cache`) || env["LOCALAPPDATA"];
  if (env["NODE_COMPILE_CACHE"] || !home) return;
  process.getBuiltinModule("node:module").enableCompileCache(`${home}/skein`);
}
