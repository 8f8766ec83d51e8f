/** Runs a command in a sandbox, to be killed in the middle: a directory and the command are its arguments. */
import { realWorld } from "../../src/runtime/world.ts";
import { shellTools } from "../../src/tool/shell.ts";
import { callTool } from "./calling.ts";

const [path = "", command = ""] = process.argv.slice(2);
const tools = await shellTools(realWorld(), [
  { kind: "shell", name: "s", mode: "write", sandbox: true, path },
]);
await callTool(tools, "shell", { command });
