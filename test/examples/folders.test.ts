/** Runs the examples that are folders, each as a process, as their READMEs say. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { root } from "../repo/source.ts";
import { noBubblewrap } from "../tool/bubblewrap.ts";

const expected: Readonly<Record<string, RegExp>> = {
  payroll: /rate changed: 4\.3 is recorded\nthe run waits for a person\npaid: 2026-12 at 4\.3\n$/,
  "api-docs": /## rate\(month: string\)[^]*woken 1 time by a commit\n$/,
  "hr-agent":
    /Hire a payroll clerk: 2 model calls[^]*vacation: 1 model call, its model sees vacation-days\n$/,
  "coding-agent": /status: suspended\n[^]*sum\.sh: echo \$\(\( \$1 \+ \$2 \)\)\ncommits: 1\n$/,
};

const withoutSandbox = await noBubblewrap();

suite("examples", { concurrency: 2 }, () => {
  for (const [name, output] of Object.entries(expected)) {
    const skip = name === "coding-agent" && withoutSandbox;
    test(`examples/${name} runs`, { skip }, () => {
      const main = join("examples", name, "main.ts");
      const { SKEIN_EXAMPLE_MODEL: _real, ...env } = process.env;
      const ended = spawnSync(process.execPath, ["--conditions=skein-source", main], {
        cwd: root,
        env,
        encoding: "utf8",
        timeout: 120_000,
      });
      assert.equal(ended.status, 0, ended.stderr + ended.stdout);
      assert.match(ended.stdout, output);
      const readme = readFileSync(join(root, "examples", name, "README.md"), "utf8");
      assert.ok(readme.includes(main), `${name}/README.md does not say how to run it`);
      for (const [, link = ""] of readme.matchAll(/\]\(([^)#]+)/g))
        assert.ok(existsSync(join(root, "examples", name, link)), `${name}/README.md: ${link}`);
    });
  }
});
