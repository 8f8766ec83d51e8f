/** Keeps the layers apart: every import line in src against the table, and the world out of pure code. */
import { test } from "node:test";
import { importRule, worldRule } from "./boundaries.ts";
import { assertKept, assertTells, readSources } from "./source.ts";

test("imports go only where the table of layers lets them", () => {
  assertKept(readSources("src"), importRule);
});

test("time, chance and processes come from the world object", () => {
  assertKept(readSources("src"), worldRule);
});

const imports: readonly { from: string; may: readonly string[]; never: readonly string[] }[] = [
  {
    from: "src/core/fold.ts",
    may: ['import { z } from "zod";', 'import "./state.ts";'],
    never: [
      'import "node:crypto";',
      'import "hono";',
      'import type { Store } from "../store/port.ts";',
      'type Store = import("../store/port.ts").Store;',
      'export type { Store } from "../store/port.ts";',
      "export const load = (name: string) => import(name);",
    ],
  },
  {
    from: "src/store/sqlite/store.ts",
    may: ['import "node:sqlite";', 'import "../port.ts";', 'import "./schema.ts";', 'import "../sql/a.ts";'],
    never: [
      'import "../memory/store.ts";',
      'import "../../runtime/engine/engine.ts";',
      'import "../../model/port.ts";',
    ],
  },
  {
    from: "src/store/conformance/conformance.ts",
    may: [
      'import "node:test";',
      'import "node:assert/strict";',
      'import "../port.ts";',
      'import "../../core/ids.ts";',
    ],
    never: ['import "node:fs";', 'import "../memory/store.ts";', 'import "zod";'],
  },
  { from: "src/model/offline.ts", may: ['import "./port.ts";'], never: ['import "../tool/port.ts";'] },
  { from: "src/tool/shell.ts", may: ['import "./port.ts";'], never: ['import "../store/port.ts";'] },
  {
    from: "src/runtime/engine/engine.ts",
    may: ['import "../../store/port.ts";', 'import "../../core/fold.ts";', 'import "./session.ts";'],
    never: [
      'import "../../store/sqlite/store.ts";',
      'import "../../cli/main.ts";',
      'import "node:test";',
      'import "skein";',
    ],
  },
  {
    from: "src/protocol/event.ts",
    may: ['import "zod";'],
    never: ['import "node:http";', 'import "../client/a.ts";'],
  },
  {
    from: "src/server/http.ts",
    may: ['import "../protocol/event.ts";'],
    never: ['import "../store/port.ts";'],
  },
  {
    from: "src/client/http.ts",
    may: ['import type { Event } from "../core/event.ts";', 'import "../protocol/event.ts";'],
    never: [
      'import { fold } from "../core/fold.ts";',
      'import "node:http";',
      'import "../runtime/engine.ts";',
    ],
  },
  {
    from: "src/adapter/mcp/server.ts",
    may: ['import "./tool.ts";', 'import "../../runtime/engine.ts";'],
    never: ['import "../langgraph/saver.ts";'],
  },
  { from: "src/cli/open.ts", may: ['import "../store/sqlite.ts";'], never: ['import "../console/page.ts";'] },
  {
    from: "src/console/page.ts",
    may: ['import "../client/http.ts";'],
    never: ['import "../server/http.ts";'],
  },
  {
    from: "src/index.ts",
    may: ['import "./store/sqlite.ts";', 'import "./runtime/engine.ts";'],
    never: ['import "./cli/main.ts";', 'import "../test/repo/source.ts";'],
  },
];

for (const { from, may, never } of imports) {
  test(`the table is read rightly for ${from}`, () => {
    for (const bad of never) {
      assertTells(importRule, {
        path: from,
        good: may.join("\n"),
        bad,
        says: /may not import|must be a literal/,
      });
    }
  });
}

test("a file outside every layer is refused", () => {
  const example = {
    path: "src/core/a.ts",
    badPath: "src/misc/a.ts",
    good: "",
    bad: "",
    says: /no layer "misc"/,
  };
  assertTells(importRule, example);
});

test("core may not name the world", () => {
  const good = `// Date.now() in a comment, "process" in a string
    export const text = "process.exit(), Date.now()";
    export const at = (facts: { process: string; now: number }) => [facts.process, facts.now, { Date: 1 }];`;
  const uses = [
    "new Date(1)",
    "Date.parse",
    "process.env",
    "fetch",
    "Buffer.of()",
    "crypto.subtle",
    "setTimeout",
  ];
  for (const use of [...uses, "globalThis.x", "Math.random()", "{ process }"]) {
    assertTells(worldRule, {
      path: "src/core/a.ts",
      good,
      bad: `export const a = ${use};`,
      says: /may not use/,
    });
  }
});

test("only the world object and the command line reach for time, chance and processes", () => {
  const good = "export const at = (ms: number, world: { setTimer(ms: number): void }) => new Date(ms);";
  const calls = [
    "Date.now()",
    "new Date()",
    "Math.random()",
    "setTimeout(f)",
    "setImmediate(f)",
    "setInterval(f)",
  ];
  const others = [
    "performance.now()",
    "randomUUID()",
    "crypto.getRandomValues(a)",
    "globalThis.setTimeout(f)",
  ];
  for (const use of [...calls, ...others]) {
    const bad = `export const a = ${use};`;
    assertTells(worldRule, { path: "src/runtime/a.ts", good, bad, says: /may not use/ });
    assertTells(worldRule, {
      path: "src/cli/a.ts",
      badPath: "src/store/a.ts",
      good: bad,
      bad,
      says: /may not/,
    });
  }
  const bad = 'import { spawn } from "node:child_process";';
  assertTells(worldRule, {
    path: "src/runtime/world.ts",
    badPath: "src/tool/a.ts",
    good: bad,
    bad,
    says: /may not/,
  });
});
