/**
 * Runs a command and prints what it said; it may be killed in the middle. Its arguments: a directory, the
 * command, and "plain" for a shell without a sandbox.
 */
import { realWorld } from "../../src/runtime/world.ts";
import { shellTools } from "../../src/tool/shell.ts";
import { callTool } from "./calling.ts";

const [path = "", command = "", kind = "sandbox"] = process.argv.slice(2);
const tools = await shellTools(realWorld(), [
  { kind: "shell", name: "s", mode: "write", sandbox: kind === "sandbox", path },
]);
console.log((await callTool(tools, "shell", { command })).text);
