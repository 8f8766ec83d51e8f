/** The resources of the session: budget, bindings, permissions. */
import type { ReactNode } from "react";
import { useScopeRefusal } from "../../scopes.ts";
import { count, money, tokens } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import type { FormField, FormSpec } from "../../ui/form-dialog.tsx";
import { span } from "../../ui/moment.tsx";
import { brief } from "../../ui/visible.ts";
import { filled } from "./session-menu.ts";
import { useScope, type Scope, type State } from "./scope.ts";
import { AskButton, Section, type Ask } from "./section.tsx";

type UsedAmount = State["budget"]["used"];

const resources: readonly (readonly [keyof UsedAmount, string, (value: number) => string])[] = [
  ["nanoUsd", "Money", money],
  ["tokens", "Tokens", tokens],
  ["turns", "Turns", count],
  ["steps", "Steps", count],
  ["toolCalls", "Tool calls", count],
  ["wallMs", "Time", span],
];

export function Budget({ ask }: { readonly ask: Ask }): ReactNode {
  const scope = useScope();
  const { limits, used } = scope.state.budget;
  const actions = (
    <AskButton ask={ask} form={() => budgetForm(scope)} label="Change the budget">
      Change
    </AskButton>
  );
  return (
    <Section title="Budget" actions={actions}>
      {() => (
        <dl className="facts small budget">
          {resources.map(([name, title, say]) => (
            <Amount key={name} title={title} used={used[name]} limit={limits[name]} say={say} />
          ))}
          <dd className="faint budget-note">Session tools are not counted.</dd>
        </dl>
      )}
    </Section>
  );
}

interface AmountProps {
  readonly title: string;
  readonly used: number;
  readonly limit: number | undefined;
  readonly say: (value: number) => string;
}

function Amount({ title, used, limit, say }: AmountProps): ReactNode {
  const percent = limit === undefined ? 0 : limit === 0 ? 100 : Math.min(100, (used / limit) * 100);
  const tone = percent >= 100 ? "bad" : percent >= 80 ? "warn" : undefined;
  return (
    <>
      <dt>{title}</dt>
      <dd className="number">
        {say(used)}
        {limit === undefined ? null : (
          <>
            <span className="soft"> of {say(limit)}</span>
            <span
              className="budget-track"
              data-tone={tone}
              role="img"
              aria-label={`${Math.round(percent)} %`}
            >
              <span style={{ width: `${percent}%` }} />
            </span>
          </>
        )}
      </dd>
    </>
  );
}

function budgetForm({ session, state, reread }: Scope): FormSpec {
  const { limits } = state.budget;
  const field = (
    name: string,
    label: string,
    value: number | undefined,
    kind: FormField["kind"] = "count",
  ): FormField => ({
    name,
    label,
    kind,
    value: value === undefined ? "" : String(value),
  });
  const per = (value: number | undefined, unit: number): number | undefined =>
    value === undefined ? undefined : value / unit;
  return {
    title: "Budget",
    lead: "Total limits; empty means unlimited. At a limit the session is suspended until you raise it.",
    fields: [
      field("usd", "Dollars", per(limits.nanoUsd, 1e9), "number"),
      field("tokens", "Tokens", limits.tokens),
      field("turns", "Turns", limits.turns),
      field("steps", "Steps", limits.steps),
      field("toolCalls", "Tool calls", limits.toolCalls),
      field("minutes", "Minutes", per(limits.wallMs, 60_000), "number"),
    ],
    confirm: "Set",
    act: async (given) => {
      const { minutes, ...rest } = filled(given, "usd", "tokens", "turns", "steps", "toolCalls", "minutes");
      const amounts = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, Number(value)]));
      const time = minutes === undefined ? {} : { wallMs: Math.round(Number(minutes) * 60_000) };
      await session.budget({ ...amounts, ...time });
      reread();
    },
  };
}

export function Bindings({ ask }: { readonly ask: Ask }): ReactNode {
  const { session, reread, state } = useScope();
  if (state.bindings.length === 0) return null;
  return (
    <Section title="Bindings" count={state.bindings.length}>
      {() => (
        <ul className="items">
          {state.bindings.map(({ name, kind, mode, erased }) => (
            <li key={name} className="item">
              <div className="spread">
                <span className="item-key" dir="auto">
                  {brief(name, 120)}
                </span>
                <p className="small soft">
                  {kind === "shell" ? "shell: any command, may change anything" : `${kind}, ${mode}`}
                  {erased === true ? ", erased: bind again" : ""}
                </p>
              </div>
              {ask === null ? null : (
                <Button
                  kind="quiet"
                  size="small"
                  aria-label={`Unbind ${brief(name, 60)}`}
                  act={() => session.unbind(name).then(reread)}
                >
                  Unbind
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

export const bindForm = ({ session, reread }: Scope): FormSpec => ({
  title: "Bind a resource",
  lead: "A path on the machine that runs the session. A shell can run any command there.",
  fields: [
    {
      name: "kind",
      label: "Kind",
      kind: "choice",
      choices: [
        ["directory", "Directory"],
        ["file", "File"],
        ["database", "Database (SQLite)"],
        ["shell", "Shell, in a directory"],
      ],
    },
    { name: "path", label: "Path", required: true, placeholder: "/home/me/project" },
    {
      name: "mode",
      label: "Access",
      kind: "choice",
      choices: [
        ["read", "Read"],
        ["write", "Read and write"],
      ],
    },
    { name: "name", label: "Name (defaults to the path)" },
  ],
  confirm: "Bind",
  act: async (given) => {
    const binding = filled(given, "kind", "path", "mode", "name");
    await session.bind(binding as Parameters<typeof session.bind>[0]);
    reread();
  },
});

const rules = [
  ["ask", "Ask a person first"],
  ["allow", "Allow"],
  ["deny", "Deny"],
] as const;
const narrowing = rules.filter(([rule]) => rule !== "allow");

export function Permissions({ ask }: { readonly ask: Ask }): ReactNode {
  const { session, reread, state } = useScope();
  const { permissions } = state;
  // A rule that allows, or removes another, grants what its tool can do.
  const refusal = useScopeRefusal("operate");
  if (permissions.length === 0) return null;
  return (
    <Section title="Permissions" count={permissions.length}>
      {() => (
        <ul className="items">
          {permissions.map(({ name, tool, rule }) => (
            <li key={name} className="item">
              <div className="spread">
                <span className="item-key">{brief(tool, 80)}</span>
                {name === tool ? null : <span className="small faint"> {brief(name, 60)}</span>}
              </div>
              <span className="mark" data-tone={{ allow: "good", deny: "bad", ask: "warn" }[rule]}>
                {rule}
              </span>
              {ask === null ? null : (
                <Button
                  kind="quiet"
                  size="small"
                  aria-label={`Remove the rule ${brief(name, 60)}`}
                  refusal={refusal}
                  act={() => session.grant({ tool, name, rule: "none" }).then(reread)}
                >
                  ×
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

/** A rule that asks or denies needs only the write scope. */
export const grantForm = ({ session, reread }: Scope, refusal: string | undefined): FormSpec => ({
  title: "Add a permission",
  ...(refusal === undefined ? {} : { lead: "Allow rules need the scope operate." }),
  fields: [
    { name: "tool", label: "Tool (* matches anything)", required: true, placeholder: "shell" },
    {
      name: "rule",
      label: "Rule",
      kind: "choice",
      choices: refusal === undefined ? rules : narrowing,
    },
    { name: "reason", label: "Reason" },
  ],
  confirm: "Add",
  act: async (given) => {
    const permission = filled(given, "tool", "rule", "reason");
    await session.grant(permission as Parameters<typeof session.grant>[0]);
    reread();
  },
});
