/** Events of accept checks: what must hold before a session is completed, and what came of each check. */
import { type CatalogEntry, event } from "../catalog-entry.ts";
import { Count, Json, Millis, Sha256 } from "../schema.ts";
import { sha } from "../sample.ts";
import { after } from "../summary-text.ts";
import { CheckName, checkKinds, checkStatuses } from "./check.ts";
import * as z from "zod";

export const checkEvents = {
  "checks.set": event({
    meaning: "The accept checks of the session were set: it is completed only when all of them have passed.",
    erased: "Names, kinds and digests of its checks are known; what they check is erased, and they fail.",
    body: z.looseObject({
      checks: z.array(z.looseObject({ name: CheckName, kind: z.enum(checkKinds), digest: Sha256 })),
    }),
    content: z.looseObject({ checks: z.array(Json), reason: z.string().optional() }),
    summary: ({ checks }) =>
      checks.length === 0
        ? "Accept checks removed"
        : `Accept checks: ${checks.map(({ name }) => name).join(", ")}`,
    sample: {
      body: { checks: [{ name: "tests", kind: "command", digest: sha }] },
      content: {
        checks: [{ kind: "command", name: "tests", command: "npm test", timeoutMs: 600_000 }],
        reason: "the release needs them",
      },
    },
  }),
  "check.ran": event({
    meaning: "An accept check was run on the state before this record, or a person decided it.",
    erased: "The check and its status are known; its output and the reason are erased.",
    body: z.looseObject({
      check: CheckName,
      /** Of its definition. */
      digest: Sha256,
      status: z.enum(checkStatuses),
      try: Count,
      exitCode: z.int().optional(),
      /** Of a review, from 0 to 1. */
      score: z.number().optional(),
      ms: Millis,
      /** The commit that was checked out. */
      commit: z.string().optional(),
      /** Of a review: the session of the reviewer. */
      by: z.string().optional(),
    }),
    content: z.looseObject({ output: z.string().optional(), reason: z.string().optional() }).optional(),
    summary: ({ check, status }, content) => `Check ${check} ${words[status]}${after(content?.reason)}`,
    sample: {
      body: {
        check: "tests",
        digest: sha,
        status: "failed",
        try: 1,
        exitCode: 1,
        score: 0.5,
        ms: 1_200,
        commit: "0".repeat(40),
        by: "ses_00000000000000000000000001",
      },
      content: { output: "1 test failed", reason: "exit code 1" },
    },
  }),
} satisfies Record<string, CatalogEntry>;

const words = { passed: "passed", failed: "failed", error: "could not run" } as const;
