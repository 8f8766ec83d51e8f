/** The event of an amendment. */
import * as z from "zod";
import { type CatalogEntry, event } from "../catalog-entry.ts";
import { sha } from "../sample.ts";
import { AgentName, Count, Json, Objective, Reason, Sha256 } from "../schema.ts";
import { because } from "../summary-text.ts";

/** The texts that an amendment may replace. */
export const amendedTexts = ["objective", "instructions", "constraints"] as const;

export const amendEvents = {
  "session.amended": event({
    meaning:
      "Objective, instructions, constraints, agent or model settings are others from here on. The context " +
      "shows them as superseding the old until its next boundary, and then alone.",
    erased:
      "The body names what was amended; the texts are erased. An agent's must be read from the workspace.",
    body: z.looseObject({
      /** The texts in the content. */
      has: z.array(z.enum(amendedTexts)),
      agent: AgentName.optional(),
      version: Count.optional(),
      digest: Sha256.optional(),
      /** Null: the agent's own again. */
      temperature: z.number().nullable().optional(),
      reasoning: z.enum(["none", "low", "medium", "high"]).nullable().optional(),
      outputTokensMax: Count.nullable().optional(),
    }),
    content: z.looseObject({
      objective: Objective.optional(),
      instructions: z.string().optional(),
      constraints: z.array(z.string()).optional(),
      because: Reason.optional(),
      /** The agent's definition, without what would allow more than before. */
      definition: Json.optional(),
    }),
    summary: ({ has, agent, version, temperature, reasoning, outputTokensMax }, content) => {
      const settings = [temperature, reasoning, outputTokensMax].some((one) => one !== undefined);
      const parts = [
        ...has,
        ...(agent === undefined ? [] : [`agent ${agent}@${version ?? 0}`]),
        ...(settings ? ["model settings"] : []),
      ];
      return `Amended ${parts.join(", ")}${because({ reason: content?.because })}`;
    },
    sample: {
      body: {
        has: ["objective", "instructions"],
        agent: "payroll",
        version: 3,
        digest: sha,
        reasoning: "high",
      },
      content: {
        objective: "December payroll run",
        instructions: "Be exact, and show each rate.",
        because: "the month has changed",
        definition: { instructions: "Be exact.", model: "acme/large-2" },
      },
    },
  }),
} satisfies Record<string, CatalogEntry>;
