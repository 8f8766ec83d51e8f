/**
 * The sample family: a shop decides how it takes payments. Data only; maker.ts creates it. Every turn really
 * runs, on the offline model, so the inputs are the commands it understands.
 */
import type { OpenOptions } from "../../core/session/commands.ts";
import type { ItemKind } from "../../core/item/kind.ts";
import type { AgentDefinition } from "../../core/workspace/agent.ts";

/** The label of every session of it. */
export const sampleLabel = { sample: "yes" } as const;
/** The part of the plan that a session is; and, while it is created, its progress. */
export const partLabel = "sample-part";
export const makingLabel = "sample-making";

export type SampleStep =
  | { readonly do: "ask"; readonly text: string }
  | { readonly do: "save"; readonly name: string }
  | { readonly do: "rewind"; readonly to: string; readonly reason: string }
  /** Merges this part into another. */
  | { readonly do: "merge"; readonly into: string }
  | { readonly do: "promote"; readonly kind: ItemKind; readonly key: string; readonly because: string }
  | { readonly do: "score"; readonly name: string; readonly value: number; readonly because: string }
  | { readonly do: "compress" }
  | { readonly do: "handoff" }
  | { readonly do: "sleep"; readonly reason: string }
  | { readonly do: "close"; readonly reason: string };

export type SampleBeginning =
  | { readonly open: OpenOptions & { readonly objective: string }; readonly carriesOn?: string }
  | { readonly fork: string; readonly at: string; readonly name: string; readonly objective: string }
  | { readonly template: string };

export interface SamplePart {
  readonly part: string;
  /** The progress text while it is created. */
  readonly says: string;
  readonly begins: SampleBeginning;
  readonly steps: readonly SampleStep[];
}

export const sampleAgent: AgentDefinition = {
  name: "sample-clerk",
  description: "A sample: keeps the shop's facts and decisions in order.",
  instructions: [
    "You keep the books of decisions of a small shop.",
    "Record what holds as facts, what was chosen as decisions with their reasons, and what is left as tasks.",
  ].join("\n"),
  model: "offline/offline",
  stepsMax: 20,
  zones: { strained: { share: 0.5 }, full: { share: 0.8 } },
};

/** Once a year, so that it does not pile up sessions. */
export const sampleTemplate = {
  name: "sample-yearly-report",
  spec: { kind: "cron", cron: "0 9 2 1 *" },
  open: {
    objective: "Write the yearly report of the shop",
    name: "Yearly report",
    agent: sampleAgent.name,
    labels: { ...sampleLabel, [partLabel]: "report" },
  },
} as const;

const ask = (text: string): SampleStep => ({ do: "ask", text });

/** The part that the others are about. */
export const sampleCenter = "payments";

/** The first stays marked as incomplete until all are created. */
export const samplePlan: readonly SamplePart[] = [
  {
    part: "requirements",
    says: "Collecting requirements, and leaving a handoff",
    begins: {
      open: {
        objective: "Collect what the shop needs of a payment provider",
        name: "Requirements",
        agent: sampleAgent.name,
        priority: 6,
      },
    },
    steps: [
      ask("Remember that currency is EUR and orders-per-month is 1800."),
      ask(
        "Note that countries are Austria, Germany, Italy. Task: ask the bookkeeper how refunds are booked.",
      ),
      ask("Done: ask the bookkeeper how refunds are booked."),
      { do: "score", name: "complete", value: 0.9, because: "the bookkeeper has read it" },
      { do: "handoff" },
      { do: "close", reason: "All that was asked for is known." },
    ],
  },
  {
    part: "payments",
    says: "Choosing a provider",
    begins: {
      open: {
        objective: "Choose how the shop takes payments, and say why",
        name: "Payment provider",
        agent: sampleAgent.name,
        priority: 2,
        budget: { usd: 1, steps: 200 },
      },
      carriesOn: "requirements",
    },
    steps: [
      ask("Note that northpay-fee is 1.4 % and southpay-fee is 1.1 %. Task: compare the fees of a year."),
      { do: "save", name: "fees-known" },
      ask("Decide provider: Northpay, because it pays out daily and speaks all our languages."),
      ask("List decisions"),
      {
        do: "promote",
        kind: "decision",
        key: "provider",
        because: "other sessions will need to know",
      },
    ],
  },
  {
    part: "yearly-fees",
    says: "Forking it to work out the fees of a year, and merging the result",
    begins: {
      fork: "payments",
      at: "fees-known",
      name: "Fees of a year",
      objective: "Work out the fees of a year for both providers",
    },
    steps: [
      ask("Note that northpay-year is 7560 EUR and southpay-year is 5940 EUR."),
      ask("Done: compare the fees of a year. Artifact: fee-table is 21600 orders, 25 EUR each."),
      { do: "merge", into: "payments" },
    ],
  },
  {
    part: "southpay",
    says: "Forking it again, for the other choice",
    begins: {
      fork: "payments",
      at: "fees-known",
      name: "What if Southpay?",
      objective: "Make the case for Southpay",
    },
    steps: [
      ask("Decide provider: Southpay, because it is 1620 EUR cheaper in a year."),
      ask("Note that payout is once a week."),
      ask("What is provider?"),
    ],
  },
  {
    part: "notice",
    says: "Making a mistake, rewinding it, and compacting the rest",
    begins: {
      open: {
        objective: "Draft the notice to customers about the new way to pay",
        name: "Notice to customers",
        agent: sampleAgent.name,
        priority: 4,
      },
    },
    steps: [
      ask("Note that tone is plain and short. Task: have the notice translated."),
      { do: "save", name: "before-the-slip" },
      ask("Note that the discount is 50 %."),
      { do: "rewind", to: "before-the-slip", reason: "The discount is 5 %: a slip of the finger." },
      ask("Note that the discount is 5 %."),
      ask("What is discount?"),
      { do: "compress" },
    ],
  },
  {
    part: "refund",
    says: "Asking for an approval",
    begins: {
      open: {
        objective: "Settle the refund of order 1042",
        name: "Refund 1042",
        agent: sampleAgent.name,
        priority: 1,
        grant: [
          { tool: "record", rule: "ask", reason: "A person reviews refunds before they are recorded." },
        ],
      },
    },
    steps: [ask("Decide refund 1042: give back 40 EUR, because the parcel came damaged.")],
  },
  {
    part: "rates",
    says: "Letting one sleep until the first of the month",
    begins: {
      open: {
        objective: "Look at the exchange rates on the first of each month",
        name: "Exchange rates",
        agent: sampleAgent.name,
        priority: 7,
        wake: [{ kind: "cron", cron: "0 7 1 * *", name: "first-of-the-month" }],
      },
    },
    steps: [
      ask("Note that the franc is 0.94 EUR and the koruna is 0.04 EUR."),
      { do: "sleep", reason: "Nothing to do until the next rates are out." },
    ],
  },
  {
    part: "report",
    says: "Firing a template, which opens a session",
    begins: { template: sampleTemplate.name },
    steps: [],
  },
];
