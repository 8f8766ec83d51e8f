/**
 * `npm run test:platform`: the suite without what other systems lack; or the files and folders that are
 * named. The sandbox is a feature of Linux, and left out.
 */
import { globSync } from "node:fs";
import { bareEnvironment, needed } from "./bare.ts";

const usual = ["core", "runtime", "store/sqlite", "tool", "tickets", "cli", "server"].flatMap((name) =>
  globSync(`test/${name}/**/*.test.ts`, { exclude: ["test/tool/sandbox*"] }).toSorted(),
);
const named = process.argv.slice(2);
process.argv.splice(2, named.length, ...(named.length > 0 ? named : usual));
for (const [need, titles] of Object.entries(needed))
  console.log(`left out, needs ${need}:\n${titles.map((title) => `  ${title}`).join("\n")}`);
// The runner itself keeps /proc: it ends hung tests by it.
Object.assign(process.env, bareEnvironment);
await import("../run.ts");
