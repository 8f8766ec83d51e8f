/** Items: facts, decisions with their reasons, tasks and other kinds. */
import { defaultStatus, isBuiltInKind, statusesOf } from "../../../core/item/kind.ts";
import { useState, type ReactNode } from "react";
import { present } from "../../../core/present.ts";
import type { FormSpec } from "../../ui/form-dialog.tsx";
import { Link } from "../../link.tsx";
import { Menu } from "../../ui/menu.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Json, Said } from "../../ui/untrusted-text.tsx";
import { showToast, showError } from "../../ui/toast.tsx";
import { brief } from "../../ui/visible.ts";
import { sessionPath } from "../../route.ts";
import { filled } from "./session-menu.ts";
import { useScope, type Scope, type State } from "./scope.ts";
import { Section, type Ask } from "./section.tsx";

type Item = State["items"][number];
type Kind = Item["kind"];

const groups: readonly (readonly [Kind, string])[] = [
  ["fact", "Facts"],
  ["decision", "Decisions"],
  ["task", "Tasks"],
  ["artifact", "Artifacts"],
  ["constraint", "Constraints"],
  ["preference", "Preferences"],
  ["hypothesis", "Hypotheses"],
  ["finding", "Findings"],
];

/** The built-in kinds, then those of the agent. */
function groupsOf(items: readonly Item[]): readonly (readonly [Kind, string])[] {
  const own = new Set(items.flatMap(({ kind }) => (isBuiltInKind(kind) ? [] : [kind])));
  return [...groups, ...[...own].toSorted().map((kind) => [kind, `Kind ${kind}`] as const)];
}

/** Natural order: k2 before k10. */
const { compare } = new Intl.Collator(undefined, { numeric: true });

export function Items({ ask }: { readonly ask: Ask }): ReactNode {
  const { items } = useScope().state;
  return groupsOf(items).map(([kind, title]) => {
    const own = items
      .filter((item) => item.kind === kind)
      .toSorted((one, other) => compare(one.key, other.key));
    if (own.length === 0) return null;
    return (
      <Section key={kind} title={title} count={own.length}>
        {() => (
          <ul className="items">
            {own.map((item) => (
              <ItemRow key={item.key} item={item} ask={ask} />
            ))}
          </ul>
        )}
      </Section>
    );
  });
}

function ItemRow({ item, ask }: { readonly item: Item; readonly ask: Ask }): ReactNode {
  const scope = useScope();
  const { kind, key, value, because, status, confidence, evidence, extracted, erased, seq, pinned } = item;
  return (
    <li className="item" data-status={status ?? undefined}>
      {kind === "task" ? <Tick item={item} isShut={ask === null} /> : null}
      <div className="spread">
        {kind === "task" && value === key ? null : (
          <Link className="item-key" to={sessionPath(scope.id, "transcript", { to: seq })} dir="auto">
            {brief(key, 80)}
          </Link>
        )}
        {erased ? <p className="gap">Value erased.</p> : <Value value={value} />}
        {because === null ? null : (
          <p className="small soft" dir="auto">
            because {brief(because, 400)}
          </p>
        )}
        {evidence === undefined ? null : (
          <p className="small soft" dir="auto">
            evidence: {brief(evidence.join("; "), 400)}
          </p>
        )}
        {status === "dropped" || (kind !== "task" && status !== null) ? (
          <span className="mark">{status}</span>
        ) : null}
        {pinned === true ? <span className="mark">pinned</span> : null}
        {confidence === undefined ? null : <span className="mark">confidence {confidence}</span>}
        {extracted === undefined ? null : (
          <span className="mark">
            {extracted.untrusted === true ? "extracted, not from a person" : "extracted"}
          </span>
        )}
      </div>
      {ask === null ? null : (
        <Menu kind="quiet" label={`Actions for ${brief(key, 60)}`} choices={itemActions(scope, item, ask)}>
          <Icon name="more" />
        </Menu>
      )}
    </li>
  );
}

const inLineChars = 80;

/** Non-text values are JSON, and look like it; in a line, if short. */
function Value({ value }: { readonly value: unknown }): ReactNode {
  if (typeof value === "string") return <Said text={value} chars={400} />;
  const short = JSON.stringify(value) ?? "";
  return <Json value={short.length <= inLineChars ? short : value} chars={400} />;
}

/** Optimistic until the item confirms it; a second click meanwhile is ignored. */
function Tick({ item, isShut }: { readonly item: Item; readonly isShut: boolean }): ReactNode {
  const { session, reread } = useScope();
  const [turned, setTurned] = useState<{ readonly seq: number; readonly isDone: boolean } | null>(null);
  const underWay = turned?.seq === item.seq ? turned : null;
  const turn = async (isDone: boolean): Promise<void> => {
    if (underWay !== null) return;
    setTurned({ seq: item.seq, isDone });
    try {
      const because = item.because === null ? {} : { because: item.because };
      await session.record("task", item.key, item.value, { status: isDone ? "done" : "open", ...because });
    } catch (error) {
      setTurned(null);
      showError(error);
    }
    reread();
  };
  return (
    <input
      type="checkbox"
      aria-label={`Done: ${brief(item.key, 80)}`}
      aria-busy={underWay !== null || undefined}
      checked={underWay?.isDone ?? item.status === "done"}
      disabled={isShut}
      onChange={({ target }) => void turn(target.checked)}
    />
  );
}

function itemActions(scope: Scope, item: Item, ask: NonNullable<Ask>) {
  const { session, reread } = scope;
  const { kind, key } = item;
  const drop = async (): Promise<void> => {
    await session.record("task", key, item.value, { status: "dropped" });
    reread();
  };
  const pin = async (): Promise<void> => {
    await (item.pinned === true ? session.unpin(kind, key) : session.pin(kind, key)).catch(showError);
    reread();
  };
  return [
    { name: "Edit…", act: () => ask(itemForm(scope, kind, item)) },
    ...(kind === "task" && item.status === "open" ? [{ name: "Drop", act: drop }] : []),
    { name: item.pinned === true ? "Unpin" : "Pin", act: pin },
    { name: "Retract…", act: () => ask(retractForm(scope, item)) },
    { name: "Promote to memory…", act: () => ask(promoteForm(scope, item)) },
  ];
}

const noStatus = ["", "Stands"] as const;

/** The choices of a status: a decision stands, or was turned down. */
const statusChoices = (kind: Kind): (readonly [string, string])[] => [
  ...(defaultStatus(kind) === null ? [noStatus] : []),
  ...statusesOf(kind).map((status) => [status, `${status[0]?.toUpperCase()}${status.slice(1)}`] as const),
];

/** Text, unless it was something else and still parses as that. */
function valueFrom(text: string, before: unknown): unknown {
  if (before === undefined || typeof before === "string") return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

export function itemForm({ session, reread }: Scope, kind: Kind, item: Item | null): FormSpec {
  const before = item?.value;
  const text = typeof before === "string" ? before : before === undefined ? "" : JSON.stringify(before);
  const key = { name: "key", label: "Key", required: true, placeholder: "database" };
  const status = { name: "status", label: "Status", kind: "choice" as const, choices: statusChoices(kind) };
  return {
    title: item === null ? `Add a ${kind}` : `Edit the ${kind} “${brief(item.key, 60)}”`,
    fields: [
      ...(item === null ? [key] : []),
      { name: "value", label: "Value", kind: "text", value: text, required: true },
      ...(statusesOf(kind).length === 0
        ? []
        : [{ ...status, value: item?.status ?? defaultStatus(kind) ?? "" }]),
      {
        name: "because",
        label: kind === "decision" ? "Reason" : "Reason (optional)",
        required: kind === "decision",
        value: item?.because ?? "",
      },
    ],
    confirm: item === null ? "Add" : "Save",
    act: async (given) => {
      const name = item?.key ?? given["key"]?.trim() ?? "";
      const options = filled(given, "because", "status") as NonNullable<Parameters<typeof session.record>[3]>;
      const kept = { ...present({ confidence: item?.confidence, evidence: item?.evidence }), ...options };
      await session.record(kind, name, valueFrom(given["value"] ?? "", before), kept);
      reread();
    },
  };
}

const retractForm = ({ session, reread }: Scope, { kind, key }: Item): FormSpec => ({
  title: `Retract the ${kind} “${brief(key, 60)}”`,
  lead: "Removes it from the session's knowledge. The log keeps it.",
  fields: [{ name: "because", label: "Reason" }],
  confirm: "Retract",
  isBad: true,
  act: async (given) => {
    await session.retract(kind, key, filled(given, "because"));
    reread();
  },
});

const promoteForm = ({ session }: Scope, { kind, key }: Item): FormSpec => ({
  title: `Promote “${brief(key, 60)}” to memory`,
  lead: "New sessions carry it if it is relevant to their objective.",
  fields: [
    {
      name: "scope",
      label: "Scope",
      kind: "choice",
      choices: [
        ["agent", "Sessions of this agent"],
        ["user", "Your sessions"],
        ["workspace", "All sessions"],
      ],
    },
    { name: "because", label: "Reason" },
  ],
  confirm: "Promote",
  act: async (given) => {
    const scope = (given["scope"] ?? "agent") as "agent" | "user" | "workspace";
    const entry = await session.promote(kind, key, { scope, ...filled(given, "because") });
    showToast(entry.pending === undefined ? "Promoted to memory." : "It waits for approval under Memory.");
  },
});
