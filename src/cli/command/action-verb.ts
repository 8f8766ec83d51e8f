/** A verb with actions, such as `tokens add` and `tokens revoke`: each action is a separate verb. */
import { once } from "../../core/cache.ts";
import { checkAction, oneOf, parseArgs, shownArg } from "./args.ts";
import type { VerbCall, Option, Options, Verb } from "./verb.ts";

/** The first is the default, and has the texts. */
export function joinActions(name: string, verbs: readonly Verb[]): Verb {
  const byAction = new Map(verbs.map((verb) => [verb.name.slice(name.length + 1), verb]));
  const actions = [...byAction.keys()];
  const [usual = ""] = actions;
  const options = once(() => joinOptions(byAction));
  const { line = "", about, examples = [] } = verbs[0] ?? {};
  return {
    name,
    line,
    args: ["ACTION?", "WORDS...?"],
    get usages() {
      return [...byAction].map(([action, verb]) =>
        ["skein", name, action === usual ? `[${action}]` : action, ...verb.args.map(shownArg)].join(" "),
      );
    },
    get options() {
      return options();
    },
    ...(about === undefined ? {} : { about }),
    examples,
    async run(call) {
      const given = call.args as unknown as { readonly ACTION?: string; readonly WORDS: readonly string[] };
      const action = oneOf("ACTION", given.ACTION ?? usual, actions);
      const takes = Object.fromEntries(
        [...byAction].map(([one, { options: its }]) => [one, Object.keys(its)]),
      );
      checkAction(name, action, call.options, takes);
      const verb = byAction.get(action);
      if (verb === undefined) return undefined;
      checkChoices(verb, call.options);
      return verb.run({ ...call, args: parseArgs(verb, given.WORDS) as VerbCall["args"] });
    },
  };
}

/** Two actions may have an option of one name with other choices. */
function checkChoices(verb: Verb, given: VerbCall["options"]): void {
  for (const [name, option] of Object.entries(verb.options)) {
    const value: unknown = given[name];
    if (option.choices !== undefined && typeof value === "string") oneOf(`--${name}`, value, option.choices);
  }
}

/** The options of all actions; the help names the actions of those that not all take. */
function joinOptions(byAction: ReadonlyMap<string, Verb>): Options {
  const names = new Set([...byAction.values()].flatMap(({ options }) => Object.keys(options)));
  return Object.fromEntries([...names].map((name) => [name, joinOption(byAction, name)]));
}

function joinOption(byAction: ReadonlyMap<string, Verb>, name: string): Option {
  const found = [...byAction].flatMap(([action, { options }]) => {
    const option = options[name];
    return option === undefined ? [] : [{ action, option }];
  });
  const sameAs = (one: Option): string[] =>
    found.filter(({ option }) => isSame(option, one)).map(({ action }) => action);
  const distinct = found
    .filter(({ option, action }) => sameAs(option)[0] === action)
    .map(({ option }) => option);
  const [first] = distinct;
  if (first === undefined) throw new Error("invariant: an option of a verb is one of an action");
  if (distinct.length === 1 && found.length === byAction.size) return first;
  const whatOf = (one: Option): string => `with ${sameAs(one).join(", ")}: ${one.what}`;
  if (distinct.length === 1) return { ...first, what: whatOf(first) };
  const { choices: _, ...open } = first;
  const withChoices = (one: Option): string =>
    one.choices === undefined ? whatOf(one) : `${whatOf(one)}: ${one.choices.join(", ")}`;
  return { ...open, what: distinct.map(withChoices).join("; ") };
}

const isSame = (one: Option, other: Option): boolean =>
  one.what === other.what && one.choices?.join() === other.choices?.join();
