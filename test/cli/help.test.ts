/** Help is made from the definitions, so the definitions are what is looked at. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { findVerb, globalOptions, parseWords } from "../../src/cli/command/args.ts";
import { exitCodes } from "../../src/cli/command/exit-code.ts";
import { runWords } from "../../src/cli/command/run.ts";
import { collectingSurface } from "../../src/cli/command/screen.ts";
import { loadGroups, otherWords } from "../../src/cli/command/verbs.ts";

const verbs = Object.fromEntries(
  (await loadGroups()).flatMap((group) => group.verbs.map((verb) => [verb.name, verb])),
);

const promised =
  "open ps show log state append record retract pin unpin scratch save load fork rewind clear rollover " +
  "split suspend activate close " +
  "reopen archive label delete search query verify rebuild stats doctor export tour help rename " +
  "prioritize cancel " +
  "interrupt sleep trigger mcp " +
  "bind unbind grant budget ask run input answer send context explain compress uncompress stages " +
  "tools cost explore " +
  "agents models chat merge lineage diff replay score import convert migrate keys " +
  "policy retain handoff contract deliver erase hold memory scan up top workers tickets tenants acp proxy " +
  "serve settle tokens hooks anchor approvals project accept check amend deps affected on-change reload";

async function said(...words: readonly string[]): Promise<string> {
  const surface = collectingSurface(null);
  const code = await runWords(words, { surface, untilStopped: () => new AbortController().signal });
  assert.equal(code, 0, surface.collected.stderr);
  return surface.collected.stdout;
}

test("there are the verbs that were promised, and no others", () => {
  assert.deepEqual(Object.keys(verbs).toSorted(), promised.split(" ").toSorted());
});

suite("each verb", () => {
  for (const [name, verb] of Object.entries(verbs)) {
    test(`${name} is called by its name, and its examples are ones it takes`, () => {
      assert.equal(verb.name, name);
      assert.match(verb.line, /^[A-Z].*\.$/);
      assert.ok(verb.examples.length > 0);
      for (const { command } of verb.examples) {
        const own = command.replace(/^.*\| (?=skein)/, "").replace(/ [<>|] .*$/, "");
        const found = findVerb(shellWords(own).slice(1));
        assert.equal(found.name, name, command);
        parseWords(verb, found.rest, 0);
      }
    });

    test(`${name} --help and help ${name} say the same, with every option`, async () => {
      const help = await said(name, "--help");
      assert.equal(await said("help", name), help);
      for (const option of Object.keys({ ...verb.options, ...globalOptions }))
        assert.ok(help.includes(`--${option}`));
      for (const { command } of verb.examples) assert.ok(help.includes(command));
      for (const line of help.split("\n")) assert.ok(line.length <= 110, line);
    });
  }
});

test("the overview names every verb and every exit code", async () => {
  const overview = await said();
  assert.equal(await said("--help"), overview);
  assert.equal(await said("help"), overview);
  for (const name of Object.keys(verbs)) assert.match(overview, new RegExp(`^  ${name} `, "m"));
  for (const { code, meaning } of exitCodes)
    assert.match(overview, new RegExp(`^  ${code} +${meaning.slice(0, 40)}`, "m"));
  const value = JSON.parse(await said("help", "--json")) as { verbs: unknown[] };
  assert.equal(value.verbs.length, Object.keys(verbs).length);
});

test("words of other tools lead to verbs that exist", () => {
  for (const [word, ours] of Object.entries(otherWords)) {
    assert.ok(!Object.hasOwn(verbs, word), word);
    assert.ok(Object.hasOwn(verbs, ours.split(" ")[0]!), ours);
  }
});

/** As a shell splits them, near enough for the examples. */
function shellWords(command: string): string[] {
  return [...command.matchAll(/(?:"([^"]*)"|'([^']*)'|[^\s"']+)+/g)].map(([word]) =>
    word.replaceAll(/["'](?!s )/g, ""),
  );
}
