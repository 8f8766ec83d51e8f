/** Files come along: rewinding puts the tree back byte for byte, or says what is in the way. */
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import fc from "fast-check";
import type { SkeinError } from "../../../src/core/error.ts";
import { anEdit, makeEdit, openWorkplace, pictureOf } from "./file-edits.ts";

const gone = (path: string): Promise<void> => rm(path, { recursive: true, force: true });

type Picture = Awaited<ReturnType<typeof pictureOf>>;

const differing = (a: Picture, b: Picture): Set<string> =>
  new Set([...Object.keys(a), ...Object.keys(b)].filter((path) => a[path] !== b[path]));

test("rewinding to any position repeatedly restores its files, and diff shows them", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anEdit, { maxLength: 6 }),
      fc.array(fc.array(anEdit, { maxLength: 5 }), { minLength: 1, maxLength: 4 }),
      fc.array(fc.nat(), { minLength: 1, maxLength: 3 }),
      async (first, steps, choices) => {
        await using place = await openWorkplace();
        for (const edit of first) await makeEdit(place.root, edit);
        const kept = [{ seq: (await place.session.head()).seq, picture: await pictureOf(place.root) }];
        for (const edits of steps) {
          const seq = await place.edit(edits);
          kept.push({ seq, picture: await pictureOf(place.root) });
        }
        const [some, other] = [kept[(choices[0] ?? 0) % kept.length], kept.at(-1)];
        assert.ok(some !== undefined && other !== undefined);
        const { files } = await place.session.diff(some.seq, other.seq, { only: ["files"] });
        assert.deepEqual(
          new Set(files?.files.map((file) => file.path)),
          differing(some.picture, other.picture),
        );
        for (const choice of choices) {
          const chosen = kept[choice % kept.length];
          assert.ok(chosen !== undefined);
          await place.session.rewind(chosen.seq, { files: true });
          assert.deepEqual(await pictureOf(place.root), chosen.picture);
          kept.push({ seq: (await place.session.head()).seq, picture: chosen.picture });
        }
        assert.deepEqual((await place.session.verify()).problems, []);
      },
    ),
    { numRuns: 30 },
  );
});

test("a later change by others blocks the rewind; or it stays, if so chosen", async () => {
  let refusals = 0;
  let successes = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(anEdit, { maxLength: 5 }),
      fc.array(fc.array(anEdit, { minLength: 2, maxLength: 5 }), { minLength: 1, maxLength: 3 }),
      fc.array(anEdit, { minLength: 1, maxLength: 3 }),
      fc.constantFrom(0, 0, 1),
      async (first, steps, foreign, choice) => {
        await using place = await openWorkplace();
        for (const edit of first) await makeEdit(place.root, edit);
        const kept = [{ seq: (await place.session.head()).seq, picture: await pictureOf(place.root) }];
        for (const edits of steps)
          kept.push({ seq: await place.edit(edits), picture: await pictureOf(place.root) });
        const left = await pictureOf(place.root);
        for (const edit of foreign) await makeEdit(place.root, edit);
        const found = await pictureOf(place.root);
        const chosen = kept[choice % kept.length];
        assert.ok(chosen !== undefined);
        const head = await place.session.head();
        const refusal = await place.session.rewind(chosen.seq, { files: true }).then(
          () => null,
          (error: unknown) => error as SkeinError,
        );
        const after = await pictureOf(place.root);
        if (refusal !== null) {
          refusals += 1;
          assert.equal(refusal.code, "conflict", refusal);
          assert.deepEqual(after, found);
          assert.deepEqual(await place.session.head(), head);
          return;
        }
        successes += 1;
        const wasFolder = (path: string): boolean =>
          found[path] === undefined && left[path]?.startsWith("directory") === true;
        for (const path of new Set([...Object.keys(after), ...Object.keys(found), ...Object.keys(left)])) {
          // Folders come and go with what is in them, also one that somebody else took away whole.
          const isFolder = (after[path] ?? found[path] ?? "").startsWith("directory") || wasFolder(path);
          if (found[path] !== left[path] && !isFolder)
            assert.ok(after[path] === found[path], `${path}: somebody else's work stays`);
          else if (left[path] !== chosen.picture[path] && !isFolder)
            assert.equal(after[path], chosen.picture[path], `${path}: the session's work is undone`);
        }
      },
    ),
    { numRuns: 40 },
  );
  assert.ok(refusals > 0 && successes > 0, `${refusals} refusals and ${successes} successes`);
});

test("a fork with files has a separate tree, as it was at the fork point", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anEdit, { maxLength: 6 }),
      fc.array(fc.array(anEdit, { maxLength: 5 }), { minLength: 1, maxLength: 4 }),
      fc.nat(),
      fc.nat(),
      async (first, steps, choice, second) => {
        await using place = await openWorkplace();
        for (const edit of first) await makeEdit(place.root, edit);
        const kept = [{ seq: (await place.session.head()).seq, picture: await pictureOf(place.root) }];
        for (const edits of steps)
          kept.push({ seq: await place.edit(edits), picture: await pictureOf(place.root) });
        const at = choice % kept.length;
        const [point, earlier] = [kept[at], kept[second % (at + 1)]];
        assert.ok(point !== undefined && earlier !== undefined);
        const before = await pictureOf(place.root);
        await using copy = { path: `${place.root}-fork`, [Symbol.asyncDispose]: () => gone(copy.path) };
        const fork = await place.session.fork({ atSeq: point.seq, files: copy.path });
        assert.deepEqual(await pictureOf(copy.path), point.picture);
        // The fork goes back further on its own, and its parent's files are left alone.
        await fork.rewind(earlier.seq, { files: true });
        assert.deepEqual(await pictureOf(copy.path), earlier.picture);
        assert.deepEqual(await pictureOf(place.root), before);
      },
    ),
    { numRuns: 15 },
  );
});
